//! Renamed labels.

use tributary_local::cosmos::RequestKind::{Create, Replace};
use tributary_testing::interleavings::amid;

use super::given::{self, deliver, label, names, product};
use crate::world::World;

#[tokio::test]
async fn a_new_name_reaches_the_products_that_carry_it_and_no_others() {
    let world = given::catalog_in(World::with_partitions(3).await).await;
    for n in 0..9 {
        let category = format!("c{n}");
        label(&world, &format!("categories/{category}"), "C").await.expect(201);
        let tags = [&["red", "new"][..], &["new"], &[]][n % 3];
        product(&world, &category, "p", 1, tags).await.expect(201);
    }
    world.settle().await;
    label(&world, "tags/red", "Crimson").await.expect(200);
    label(&world, "categories/c0", "First").await.expect(200);
    let ((), requests) = world.requests_of(world.settle()).await;
    let writes = requests.iter().filter(|sent| sent.kind == Replace && sent.container == "product");
    assert_eq!(writes.count(), 5, "the bike, three with the tag, one of them of the category");
    assert_eq!(names(&world, "bikes", "b1").await, ["Bikes", "New", "Crimson"]);
    for n in 0..9 {
        let category = if n == 0 { "First" } else { "C" };
        let mut expected = vec![category];
        expected.extend_from_slice([&["Crimson", "New"][..], &["New"], &[]][n % 3]);
        assert_eq!(names(&world, &format!("c{n}"), "p").await, expected);
    }
}

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
