//! `POST /categories/{categoryId}/products/{productId}/move`.

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::{Value, json};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{self, Create, Replace},
};

use super::given::{self, item, label, moved, path, product};
use tributary_testing::interleavings::{amid, held};

use crate::{
    expect::problem,
    world::{Answer, World},
};

/// The categories in which a product is, and its price in each.
async fn places(world: &World, id: &str) -> Vec<(String, u64)> {
    let items = world.items("product").await;
    let products = items.iter().filter(|it| it["type"] == "product" && it["id"] == id);
    let place = |product: &Value| {
        let category = product["categoryId"].as_str().unwrap().to_owned();
        (category, product["price"].as_u64().unwrap())
    };
    let mut places: Vec<_> = products.map(place).collect();
    places.sort_unstable();
    places
}

fn at(category: &str, price: u64) -> Vec<(String, u64)> {
    vec![(category.to_owned(), price)]
}

#[tokio::test]
async fn a_moved_product_is_in_its_new_category_only() {
    let world = given::catalog().await;
    let before = world.get(&path("bikes", "b1")).await.expect(200).json();
    let answer = moved(&world, "bikes", "b1", "parts").await.expect(200);
    let there = world.get(&path("parts", "b1")).await.expect(200);
    assert_eq!((there.json(), there.header("etag")), (answer.json(), answer.header("etag")));
    let mut expected = before;
    (expected["categoryId"], expected["categoryName"]) = (json!("parts"), json!("Parts"));
    assert_eq!(there.json(), expected);
    problem(&world.get(&path("bikes", "b1")).await, 404);
    world.settle().await;
    assert_eq!(places(&world, "b1").await, at("parts", 1_000));
}

#[tokio::test]
async fn a_move_can_be_repeated_and_goes_nowhere_when_the_product_is_there() {
    let world = given::catalog().await;
    for _ in 0..2 {
        moved(&world, "bikes", "b1", "bikes").await.expect(200);
    }
    for _ in 0..3 {
        let answer = moved(&world, "bikes", "b1", "parts").await.expect(200);
        assert_eq!(answer.json()["categoryName"], "Parts");
        moved(&world, "parts", "b1", "parts").await.expect(200);
    }
    product(&world, "parts", "b1", 5, &[]).await.expect(200);
    assert_eq!(moved(&world, "bikes", "b1", "parts").await.expect(200).json()["price"], 5);
    // The product moves back again.
    moved(&world, "parts", "b1", "bikes").await.expect(200);
    problem(&moved(&world, "bikes", "b2", "bikes").await, 404);
    assert_eq!(places(&world, "b1").await, at("bikes", 5));
    // The tombstone in the old category has expired: the arrival names the old category.
    world.delete_item("product", "parts", "b1").await;
    moved(&world, "parts", "b1", "bikes").await.expect(200);
    problem(&moved(&world, "tags", "b1", "bikes").await, 404);
}

#[tokio::test]
async fn a_move_is_made_under_the_conditions_of_its_caller() {
    let world = given::catalog().await;
    let body = Some(json!({"categoryId": "parts"}));
    let at_once = async |path: &str, condition: (&str, &str)| {
        world.call("POST", &format!("{path}/move"), &[condition], body.clone()).await
    };
    problem(&at_once(&path("bikes", "b1"), ("if-match", "\"0\"")).await, 412);
    let etag = world.get(&path("bikes", "b1")).await.expect(200).header("etag").to_owned();
    at_once(&path("bikes", "b1"), ("if-match", &etag)).await.expect(200);
    // The answer was lost: the condition holds no more, and the move was made.
    at_once(&path("bikes", "b1"), ("if-match", &etag)).await.expect(200);
    world.settle().await;
    assert_eq!(places(&world, "b1").await, at("parts", 1_000));
}

#[tokio::test]
async fn an_impossible_move_is_refused() {
    let world = given::catalog().await;
    problem(&moved(&world, "bikes", "b1", "none").await, 404);
    problem(&moved(&world, "bikes", "none", "parts").await, 404);
    product(&world, "parts", "b1", 7, &[]).await.expect(201);
    problem(&moved(&world, "bikes", "b1", "parts").await, 409);
    assert_eq!(places(&world, "b1").await, [at("bikes", 1_000), at("parts", 7)].concat());
    world.delete(&path("parts", "b1")).await.expect(204);
    moved(&world, "bikes", "b1", "parts").await.expect(200);
}

/// Moves a product from `bikes` to `parts` until the last of these writes to `product` is due.
async fn moving<'a>(
    world: &'a World,
    id: &'a str,
    before: &[RequestKind],
) -> LocalBoxFuture<'a, Answer> {
    let mut moving = moved(world, "bikes", id, "parts").boxed_local();
    for kind in before {
        let (hold, going) = held((world, *kind, "product"), moving).await;
        hold.release();
        moving = going;
    }
    moving
}

/// Drops the move at the last of these writes.
async fn killed_at_write(world: &World, id: &str, kinds: &[RequestKind]) {
    let (last, before) = kinds.split_last().unwrap();
    drop(held((world, *last, "product"), moving(world, id, before).await).await);
}

#[tokio::test]
async fn a_move_that_was_cut_off_is_finished_by_the_change_feed() {
    for kinds in [&[Replace][..], &[Replace, Create], &[Replace, Create, Replace]] {
        for by_feed in [true, false] {
            let world = given::catalog().await;
            killed_at_write(&world, "b1", kinds).await;
            let has_begun = kinds.len() > 1;
            // Until then, readers find it.
            world.get(&path("bikes", "b1")).await.expect(200);
            if by_feed {
                world.settle().await;
                let place = if has_begun { "parts" } else { "bikes" };
                assert_eq!(places(&world, "b1").await, at(place, 1_000), "{kinds:?}");
            }
            moved(&world, "bikes", "b1", "parts").await.expect(200);
            world.settle().await;
            assert_eq!(places(&world, "b1").await, at("parts", 1_000), "{kinds:?}");
        }
    }
}

#[tokio::test]
async fn a_move_whose_answers_are_lost_is_carried_out_once() {
    for (kind, times) in [(Replace, 1), (Replace, 2), (Create, 1)] {
        let world = given::catalog().await;
        world.endpoint.inject(Fault::AnswerLost, kind, "product", times);
        moved(&world, "bikes", "b1", "parts").await.expect(200);
        world.settle().await;
        assert_eq!(places(&world, "b1").await, at("parts", 1_000), "{kind:?} {times}");
    }
}

#[tokio::test]
async fn a_price_that_is_edited_while_its_product_moves_moves_along() {
    for kinds in [&[Replace][..], &[Replace, Create], &[Replace, Create, Replace]] {
        let world = given::catalog().await;
        let edit = async || {
            product(&world, "bikes", "b1", 7, &["red"]).await.expect(200);
        };
        // Both while the move is under way and after it was cut off.
        let (last, before) = kinds.split_last().unwrap();
        let moving = moving(&world, "b1", before).await;
        amid((&world, *last, "product"), moving, edit()).await.expect(200);
        world.settle().await;
        assert_eq!(places(&world, "b1").await, at("parts", 7), "{kinds:?}");
    }
    // The edit has read the product before the move, and writes after it.
    let world = given::catalog().await;
    let moving = async {
        moved(&world, "bikes", "b1", "parts").await.expect(200);
    };
    let edit = product(&world, "bikes", "b1", 7, &["red"]);
    let answer = amid((&world, Replace, "product"), edit, moving).await.expect(200).json();
    assert_eq!((&answer["categoryId"], &answer["price"]), (&json!("parts"), &json!(7)));
    world.settle().await;
    assert_eq!(places(&world, "b1").await, at("parts", 7));
    // An edit that comes later makes a new product, as every PUT where nothing is.
    product(&world, "bikes", "b1", 9, &[]).await.expect(201);
    assert_eq!(places(&world, "b1").await, [at("bikes", 9), at("parts", 7)].concat());
}

/// An edit that follows a product and finds it deleted is a `PUT` where nothing is, and that place is
/// the one in its path.
#[tokio::test]
async fn an_edit_overtaken_by_a_move_and_a_delete_brings_nothing_back_elsewhere() {
    for header in [None, Some(("if-match", "*"))] {
        let world = given::catalog().await;
        let meanwhile = async {
            moved(&world, "bikes", "b1", "parts").await.expect(200);
            world.delete(&path("parts", "b1")).await.expect(204);
        };
        let at_bikes = path("bikes", "b1");
        let body = Some(given::body("b1", 7, &["red"]));
        let edit = world.call("PUT", &at_bikes, header.as_slice(), body);
        let answer = amid((&world, Replace, "product"), edit, meanwhile).await;
        let expected = if header.is_some() {
            problem(&answer, 412);
            Vec::new()
        } else {
            assert_eq!(answer.expect(201).json()["categoryId"], "bikes");
            at("bikes", 7)
        };
        world.settle().await;
        assert_eq!(places(&world, "b1").await, expected, "{header:?}");
    }
}

/// The store refuses writes that would make the new category larger, as long as it is full.
#[tokio::test]
async fn a_move_to_a_full_category_is_taken_back() {
    let full = Fault::RefusedWith(403, 1014);
    for (command, status, price) in [("PUT", 200, Some(7_u64)), ("DELETE", 204, None)] {
        let world = given::catalog().await;
        world.endpoint.inject(full, Create, "product", 1_000);
        let answer = moved(&world, "bikes", "b1", "parts").await;
        assert_eq!(answer.expect(507).json()["type"], "urn:tributary:problem:partition-full");
        assert_eq!(places(&world, "b1").await, at("bikes", 1_000));
        moved(&world, "bikes", "b1", "parts").await.expect(507);
        moved(&world, "bikes", "b1", "bikes").await.expect(200);
        let body = price.map(|price| given::body("b1", price, &[]));
        world.call(command, &path("bikes", "b1"), &[], body).await.expect(status);
        world.settle().await;
        let expected = price.map_or(Vec::new(), |price| at("bikes", price));
        assert_eq!(places(&world, "b1").await, expected);
        assert!(world.list("/api/dead-letters").await.is_empty());
    }
}

/// The writer of an outcome is slow, and a deletion makes room before its write arrives.
#[tokio::test]
async fn a_late_arrival_of_a_move_that_was_taken_back_is_withdrawn() {
    let world = given::catalog().await;
    killed_at_write(&world, "b1", &[Replace, Create]).await;
    let departing = item(&world, "product", "bikes", "b1").await;
    let (hold, slow) = held(
        (&world, Create, "product"),
        world.deliver("ProductsIntegrity", std::slice::from_ref(&departing)),
    )
    .await;
    world.endpoint.inject(Fault::RefusedWith(403, 1014), Create, "product", 1);
    moved(&world.second_instance().await, "bikes", "b1", "parts").await.expect(507);
    hold.release();
    slow.await.unwrap();
    assert_eq!(places(&world, "b1").await, at("bikes", 1_000));
    world.settle().await;
    moved(&world, "bikes", "b1", "parts").await.expect(200);
    world.settle().await;
    assert_eq!(places(&world, "b1").await, at("parts", 1_000));
}

/// A move that a crash has cut off and that cannot end is taken back by each command that meets it,
/// and by the change feed.
#[tokio::test]
async fn a_departure_to_a_full_category_locks_nothing() {
    for by_feed in [true, false] {
        let world = given::catalog().await;
        killed_at_write(&world, "b1", &[Replace, Create]).await;
        world.endpoint.inject(Fault::RefusedWith(403, 1014), Create, "product", 1_000);
        if by_feed {
            world.settle().await;
            assert!(item(&world, "product", "bikes", "b1").await.get("departure").is_none());
        }
        product(&world, "bikes", "b1", 7, &["red"]).await.expect(200);
        world.settle().await;
        assert_eq!(places(&world, "b1").await, at("bikes", 7));
    }
}

#[tokio::test]
async fn a_category_that_gets_the_id_during_a_move_refuses_the_product() {
    let world = given::catalog().await;
    let taken = async {
        product(&world, "parts", "b1", 7, &[]).await.expect(201);
    };
    let moving = moved(&world, "bikes", "b1", "parts");
    problem(&amid((&world, Replace, "product"), moving, taken).await, 409);
    let both = [at("bikes", 1_000), at("parts", 7)].concat();
    assert_eq!(places(&world, "b1").await, both);
    // The refused product can be edited, and can move when there is room.
    product(&world, "bikes", "b1", 8, &[]).await.expect(200);
    world.delete(&path("parts", "b1")).await.expect(204);
    moved(&world, "bikes", "b1", "parts").await.expect(200);
    world.settle().await;
    assert_eq!(places(&world, "b1").await, at("parts", 8));
}

#[tokio::test]
async fn a_late_change_of_a_departing_product_brings_nothing_back() {
    let world = given::catalog().await;
    killed_at_write(&world, "b1", &[Replace, Create]).await;
    let departing = item(&world, "product", "bikes", "b1").await;
    let late = async || {
        let change = std::slice::from_ref(&departing);
        world.deliver("ProductsIntegrity", change).await.unwrap();
    };
    late().await;
    assert_eq!(places(&world, "b1").await, at("parts", 1_000));
    world.delete(&path("parts", "b1")).await.expect(204);
    late().await;
    assert!(places(&world, "b1").await.is_empty());
    product(&world, "bikes", "b1", 5, &[]).await.expect(201);
    moved(&world, "bikes", "b1", "parts").await.expect(200);
    world.delete(&path("parts", "b1")).await.expect(204);
    late().await;
    assert!(places(&world, "b1").await.is_empty());
}

#[tokio::test]
async fn two_callers_that_end_a_move_at_once_end_it_once() {
    for (kinds, kind) in [(&[Replace, Create][..], Create), (&[Replace, Create, Replace], Replace)]
    {
        let world = given::catalog().await;
        killed_at_write(&world, "b1", kinds).await;
        let departing = item(&world, "product", "bikes", "b1").await;
        let change = std::slice::from_ref(&departing);
        let other = async {
            world.second_instance().await.deliver("ProductsIntegrity", change).await.unwrap();
            // Later changes of the product there are not part of the move.
            product(&world, "parts", "b1", 3, &[]).await.expect(200);
            moved(&world, "parts", "b1", "tools").await.expect(200);
        };
        label(&world, "categories/tools", "Tools").await.expect(201);
        let one = world.deliver("ProductsIntegrity", change);
        amid((&world, kind, "product"), one, other).await.unwrap();
        world.settle().await;
        assert_eq!(places(&world, "b1").await, at("tools", 3), "{kind:?}");
    }
}

#[tokio::test]
async fn a_delete_that_meets_a_move_comes_after_it() {
    let world = given::catalog().await;
    killed_at_write(&world, "b1", &[Replace, Create]).await;
    problem(&world.delete(&path("bikes", "b1")).await, 404);
    assert_eq!(places(&world, "b1").await, at("parts", 1_000));
}

/// The target keeps the outcome of the move, in its tombstone and in a new product, too. A later move ends the
/// earlier one first.
#[tokio::test]
async fn an_outcome_is_replaced_only_when_its_move_has_ended() {
    let left = [at("tools", 3), [at("parts", 4), at("tools", 3)].concat(), at("parts", 3)];
    for (n, expected) in left.into_iter().enumerate() {
        let world = given::catalog().await;
        label(&world, "categories/tools", "Tools").await.expect(201);
        product(&world, "tools", "b1", 3, &[]).await.expect(201);
        killed_at_write(&world, "b1", &[Replace, Create, Replace]).await;
        world.delete(&path("parts", "b1")).await.expect(204);
        match n {
            0 => {}
            1 => drop(product(&world, "parts", "b1", 4, &[]).await.expect(201)),
            _ => drop(moved(&world, "tools", "b1", "parts").await.expect(200)),
        }
        world.settle().await;
        assert_eq!(places(&world, "b1").await, expected);
    }
}
