//! A world with items in every list of the app, and these lists.

use serde_json::{Value, json};

use crate::{
    blog::given::{comment, like, post, user},
    news::given::{HYBRID, Newsroom},
    webstore::{
        given::{line, order_of, product, shop_in},
        shop::label,
    },
    world::World,
};

/// How many items each list has, but for those of the shop, which has some of its own.
pub(crate) const ITEMS: usize = 7;

/// A list of the app.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnyList {
    /// The path, with a filter that all of its items meet.
    pub(crate) path: &'static str,
    pub(crate) container: &'static str,
    /// The type of its items, where the container has others.
    pub(crate) of_type: Option<&'static str>,
    /// A field that every item needs.
    pub(crate) field: &'static str,
}

const fn list(
    path: &'static str,
    container: &'static str,
    of_type: Option<&'static str>,
    field: &'static str,
) -> AnyList {
    AnyList { path, container, of_type, field }
}

/// Every list of the app.
pub(crate) const EVERY_LIST: [AnyList; 12] = [
    list("/api/users/ann/posts?", "users", Some("post"), "title"),
    list("/api/posts/p0/comments?", "posts", Some("comment"), "content"),
    list("/api/posts/p0/likes?", "posts", Some("like"), "userUsername"),
    list("/api/customers/ann/orders?", "customer", Some("salesOrder"), "total"),
    list("/api/categories?", "productMeta", Some("category"), "name"),
    list("/api/tags?", "productMeta", Some("tag"), "name"),
    list("/api/categories/c1/products?", "product", Some("product"), "price"),
    list("/api/news/items?days=90&", "feeds_current", None, "title"),
    list("/api/news/items?provider=reuters&days=90&", "feeds_current", None, "title"),
    list("/api/news/search?q=title&provider=reuters&days=90&", "feeds_current", None, "tags"),
    list("/api/dead-letters?", "dead-letters", None, "reason"),
    list("/api/dead-letters?function=HomeFeed&", "dead-letters", None, "reason"),
];

/// A world that has them.
pub(crate) async fn world() -> World {
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
        product(&world, "c1", &format!("q{n}"), 1.0).await.expect(201);
        order_of(&world, "ann", &[line("c1", "p1", 1)]).await.expect(201);
        let letter = json!({
            "id": format!("HomeFeed.{n}"), "function": "HomeFeed", "raw": "", "rawTruncated": false,
            "reason": "", "invocationId": "", "failedAt": format!("2026-11-21T09:25:54.12{n}Z"),
        });
        let letters = world.container("dead-letters").await;
        let id = letter["id"].as_str().unwrap();
        letters.create_item("HomeFeed".to_owned(), id, &letter, None).await.unwrap();
    }
    world.settle().await;
    let room = Newsroom::with(world, HYBRID).await;
    for (n, days) in (0..ITEMS).zip([0.1, 0.2, 1.0, 12.0, 25.0, 26.0, 29.0]) {
        room.post("reuters", &n.to_string(), days).await.expect(201);
    }
    room.world
}

impl AnyList {
    /// A page: its answer.
    pub(crate) async fn page(self, world: &World, limit: usize, cursor: Option<&str>) -> Value {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        world.get(&format!("{}limit={limit}{cursor}", self.path)).await.expect(200).json()
    }

    /// The ids of all items, page by page.
    pub(crate) async fn ids(self, world: &World, limit: usize) -> Vec<String> {
        let (mut ids, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.page(world, limit, cursor.as_deref()).await;
            ids.extend(ids_of(&page));
            assert!(ids.len() <= 1_000, "{} does not end", self.path);
            match page["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return ids,
            }
        }
    }
}

/// The ids of the items of a page.
pub(crate) fn ids_of(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}
