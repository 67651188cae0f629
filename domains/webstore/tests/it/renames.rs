//! Renamed labels.

use tributary_local::cosmos::RequestKind::{Create, Replace};
use tributary_testing::interleavings::amid;

use super::given::{self, deliver, label, names, product};

#[tokio::test]
async fn a_tag_that_is_taken_away_while_it_is_renamed_stays_away() {
    let world = given::catalog().await;
    label(&world, "tags/red", "Crimson").await.expect(200);
    let edit = async {
        product(&world, "bikes", "b1", 7, &["new"]).await.expect(200);
    };
    let rename = deliver(&world, "productMeta", "tag", "red");
    amid((&world, Replace, "product"), rename, edit).await;
    assert_eq!(names(&world, "bikes", "b1").await, ["Bikes", "New"]);
}

#[tokio::test]
async fn a_product_that_moves_during_a_rename_has_the_new_names_in_the_end() {
    for kind in [Create, Replace] {
        let world = given::catalog().await;
        let rename = async {
            for (path, kind, id) in
                [("categories/parts", "category", "parts"), ("tags/red", "tag", "red")]
            {
                label(&world, path, "Second").await.expect(200);
                deliver(&world, "productMeta", kind, id).await;
            }
        };
        let moving = given::moved(&world, "bikes", "b1", "parts");
        amid((&world, kind, "product"), moving, rename).await.expect(200);
        world.settle().await;
        assert_eq!(names(&world, "parts", "b1").await, ["Second", "New", "Second"]);
    }
}
