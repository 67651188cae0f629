//! Every list of the app: in pages, past unreadable items, and under forged cursors.

use serde_json::json;
use tokio::runtime::Runtime;
use tributary_testing::{
    checks::lists::{self, ListUnderTest, encoded},
    problems::bad_fields,
};

use crate::{
    blog::{comment, like, post, user},
    news::{HYBRID, Newsroom},
    webstore::{label, line, order_of, product, shop_in},
    world::World,
};

const ITEMS: usize = 7;

const fn list(
    path: &'static str,
    (container, having): (&'static str, &'static [(&'static str, &'static str)]),
    needs: &'static str,
    date: Option<&'static str>,
) -> ListUnderTest {
    ListUnderTest { path, container, having, id_prefix: "", needs, date }
}

const CREATED: Option<&str> = Some("creationDate");
const PUBLISHED: Option<&str> = Some("publishedDate");
const FAILED: Option<&str> = Some("failedAt");
const PROVIDER: &str = "/api/news/items?provider=reuters&days=90&";
const SEARCH: &str = "/api/news/search?q=title&provider=reuters&days=90&";

#[rustfmt::skip]
const EVERY_LIST: [ListUnderTest; 12] = [
    ListUnderTest {
        id_prefix: "post:",
        ..list("/api/users/ann/posts?", ("users", &[("type", "post")]), "title", CREATED)
    },
    list("/api/posts/p0/comments?", ("posts", &[("type", "comment")]), "content", CREATED),
    list("/api/posts/p0/likes?", ("posts", &[("type", "like")]), "userUsername", CREATED),
    list("/api/customers/ann/orders?", ("customer", &[("type", "salesOrder")]), "total", Some("orderDate")),
    list("/api/categories?", ("productMeta", &[("type", "category")]), "name", None),
    list("/api/tags?", ("productMeta", &[("type", "tag")]), "name", None),
    list("/api/categories/c1/products?", ("product", &[("type", "product"), ("categoryId", "c1")]), "price", None),
    list("/api/news/items?days=90&", ("feeds_current", &[]), "title", PUBLISHED),
    list(PROVIDER, ("feeds_current", &[]), "title", PUBLISHED),
    list(SEARCH, ("feeds_current", &[]), "tags", PUBLISHED),
    list("/api/dead-letters?", ("dead-letters", &[]), "reason", FAILED),
    list("/api/dead-letters?function=HomeFeed&", ("dead-letters", &[]), "reason", None),
];

async fn world() -> World {
    let world = shop_in(World::new().await).await;
    for n in 0..ITEMS {
        let id = format!("u{n}");
        user(&world, &id, &id).await.expect(201);
    }
    user(&world, "ann", "Ann").await.expect(201);
    for n in 0..ITEMS {
        post(&world, &format!("p{n}"), "ann").await.expect(201);
        let user = format!("u{n}");
        comment(&world, "p0", &user, "Well.").await.expect(201);
        like(&world, "p0", &user).await.expect(201);
        label(&world, &format!("tags/t{n}"), &format!("Tag {n}")).await.expect(201);
        label(&world, &format!("categories/k{n}"), &format!("Category {n}")).await.expect(201);
        product(&world, "c1", &format!("q{n}"), 1, &[]).await.expect(201);
        order_of(&world, "ann", &[line("c1", "p1", 1)]).await.expect(201);
        let letter = json!({
            "id": format!("HomeFeed.{n}"), "function": "HomeFeed", "raw": "", "rawTruncated": false,
            "reason": "", "invocationId": "", "failedAt": format!("2026-11-21T09:25:54.12{n}Z"),
        });
        world.write_item("dead-letters", &letter).await;
    }
    world.settle().await;
    let room = Newsroom::with(world, HYBRID).await;
    for (n, days) in (0..ITEMS).zip([0.1, 0.2, 1.0, 12.0, 25.0, 26.0, 29.0]) {
        room.post("reuters", &n.to_string(), days).await.expect(201);
    }
    room.world
}

#[tokio::test]
async fn every_list_shows_each_item_once_whatever_the_limits() {
    let world = world().await;
    for list in EVERY_LIST {
        list.shows_each_item_once(&world).await;
    }
}

#[tokio::test]
async fn every_list_continues_past_any_number_of_unreadable_items() {
    let world = world().await;
    for list in EVERY_LIST {
        list.leaves_unreadable_items_out(&world).await;
    }
}

#[test]
fn a_forged_cursor_is_refused_or_shows_a_page_of_the_same_list_at_its_price() {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(world());
    lists::forged_cursors_are_refused(&runtime, &world, &EVERY_LIST);
}

#[tokio::test]
async fn a_position_outside_of_the_window_is_refused() {
    let world = World::new().await;
    let window = "/api/news/items?from=2026-01-01&to=2026-03-01&limit=1";
    let path = "/api/news/items?from=2026-01-01T00%3A00%3A00.000Z&to=2026-03-01T00%3A00%3A00.000Z";
    let at = async |date: &str| {
        let cursor = encoded(&json!([path, [format!("{date}T00:00:00.000Z"), "a"]]));
        world.get(&format!("{window}&cursor={cursor}")).await
    };
    for outside in ["0000-01-01", "2025-12-31", "2026-03-02", "9999-12-31"] {
        assert_eq!(bad_fields(&at(outside).await), ["cursor"], "{outside}");
    }
    for inside in ["2026-01-01", "2026-02-11", "2026-03-01"] {
        at(inside).await.expect(200);
    }
}
