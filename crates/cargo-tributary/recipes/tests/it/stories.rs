//! Stories of clients, who know the API alone.

use serde_json::{Value, json};
use tributary_testing::{
    StoreRequest,
    budget::budget,
    checks::{self, lists},
};

use crate::World;

const PASSWORD: &str = "correct horse battery staple";

fn user(name: &str, password: &str) -> Value {
    let email = format!("{name}@example.com");
    json!({"user": {"username": name, "email": email, "password": password}})
}

/// Registers a user. Returns the world of this user.
async fn registered(world: &World, name: &str) -> World {
    world.post("/api/users", user(name, PASSWORD)).await.expect(201);
    world.as_caller(Some(name))
}

async fn users() -> [World; 3] {
    let nobody = World::new().await.as_caller(None);
    [registered(&nobody, "ann").await, registered(&nobody, "bob").await, nobody]
}

fn recipe(title: &str) -> Value {
    json!({"recipe": {"title": title, "body": "B"}})
}

/// Creates a recipe, and returns its path.
async fn created(cook: &World, title: &str) -> String {
    let created = cook.post("/api/recipes", recipe(title)).await.expect(201);
    created.header("location").to_owned()
}

fn titles(answer: &Value) -> Vec<&str> {
    let recipes = answer["recipes"].as_array().unwrap().iter();
    recipes.map(|recipe| recipe["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_name_has_one_user_who_logs_in_by_the_password() {
    let [_, _, nobody] = users().await;
    let login = async |name: &str, password: &str| {
        nobody.post("/api/users/login", user(name, password)).await
    };
    let answer = login("ann", PASSWORD).await.expect(200).json();
    let token = format!("Bearer {}", answer["user"]["token"].as_str().unwrap());
    let me = async |token: &str| {
        nobody.call("GET", "/api/user", &[("authorization", token)], None).await
    };
    assert_eq!(me(&token).await.expect(200).json()["user"]["username"], "ann");
    me(&format!("{token}x")).await.expect(401);
    let wrong = login("ann", "incorrect horse battery").await.expect(401);
    assert_eq!(login("zoe", PASSWORD).await.expect(401).text, wrong.text);
}

#[tokio::test]
async fn a_taken_value_is_named_and_an_unused_one_is_free() {
    let [_, bob, nobody] = users().await;
    let edit = async |user: &World, edit: Value| user.put("/api/user", json!({"user": edit})).await;
    let register = async |name: &str, email: &str| {
        let user = json!({"username": name, "email": email, "password": PASSWORD});
        nobody.post("/api/users", json!({"user": user})).await
    };
    let taken = register("zoe", "Ann@Example.com").await.expect(422).json();
    assert_eq!(taken["errors"]["email"][0], "is taken: choose another one");
    let taken = register("ann", "zoe@example.com").await.expect(422).json();
    assert_eq!(taken["errors"]["username"][0], "is taken: choose another one");
    register("zoe", "zoe@example.com").await.expect(201);
    edit(&bob, json!({"email": "zoe@example.com"})).await.expect(422);
    edit(&bob, json!({"email": "bob@example.org"})).await.expect(200);
    register("carl", "bob@example.com").await.expect(201);
}

#[tokio::test]
async fn the_audit_deletes_what_crashes_have_left() {
    let [ann, _, nobody] = users().await;
    // The reservations of commands that crashed right after.
    for (email, owner) in [("dan@example.com", "dan"), ("anna@example.com", "ann")] {
        let item = json!({
            "type": "reservation", "id": "reservation", "username": format!("email:{email}"),
            "owner": owner, "reservedAt": "2026-01-01T00:00:00.000Z",
        });
        nobody.write_item("users", &item).await;
    }
    nobody.delete_item("users", "email:bob@example.com", "reservation").await;
    let found = nobody.audit(true).await;
    let leaked = ["anna", "dan"].map(|it| format!("reservation-leaked email:{it}@example.com"));
    assert!(found[0].starts_with(&leaked[0]) && found[1].starts_with(&leaked[1]), "{found:?}");
    assert!(found[2].starts_with("reservation-missing bob bob"), "{found:?}");
    assert_eq!(nobody.audit(false).await, [""; 0]);
    for (email, status) in [("bob@example.com", 422), ("dan@example.com", 200)] {
        ann.put("/api/user", json!({"user": {"email": email}})).await.expect(status);
    }
}

#[tokio::test]
async fn an_edit_leaves_what_it_does_not_name_and_null_removes_a_bio() {
    let [ann, _, _] = users().await;
    let edit = async |edit: Value| {
        let edited = ann.put("/api/user", json!({"user": edit})).await.expect(200).json();
        (edited["user"]["email"].clone(), edited["user"]["bio"].clone())
    };
    let [own, new] = [json!("ann@example.com"), json!("a@example.com")];
    assert_eq!(edit(json!({"bio": "I cook."})).await, (own.clone(), json!("I cook.")));
    assert_eq!(edit(json!({"email": new})).await, (new.clone(), json!("I cook.")));
    assert_eq!(edit(json!({"bio": null})).await, (new, Value::Null));
    let refused = ann.put("/api/user", json!({"user": {"email": null}})).await.expect(422).json();
    assert!(refused["errors"]["user.email"].is_array(), "{refused}");
    assert_eq!(edit(json!({"email": "ann@example.com"})).await, (own, Value::Null));
}

#[tokio::test]
async fn a_recipe_keeps_its_slug_and_belongs_to_its_cook() {
    let [ann, bob, nobody] = users().await;
    let path = created(&ann, "Crème brûlée!").await;
    assert!(path.starts_with("/api/recipes/creme-brulee-"), "{path}");
    assert_ne!(created(&ann, "Crème brûlée!").await, path);
    let bad = nobody.put(&path, recipe("")).await.expect(401);
    assert!(bad.json()["errors"]["unauthorized"].is_array());
    let bad = ann.put(&path, recipe("")).await.expect(422).json();
    let rule = bad["errors"]["recipe.title"][0].as_str().unwrap();
    assert_eq!(rule, "must be 1 to 100 characters long");
    bob.put(&path, recipe("Custard")).await.expect(403);
    ann.put(&path, recipe("Custard")).await.expect(200);
    let read = nobody.get(&path).await.expect(200).json();
    assert_eq!(read["recipe"]["title"], "Custard");
    bob.delete(&path).await.expect(403);
    ann.delete(&path).await.expect(204);
    nobody.get(&path).await.expect(404);
}

#[tokio::test]
async fn lists_are_read_by_offset_with_the_number_of_all() {
    let [ann, bob, nobody] = users().await;
    for n in 0..4 {
        created(&ann, &format!("Soup {n}")).await;
    }
    let gone = created(&bob, "Cake").await;
    created(&bob, "Cold soup").await;
    nobody.settle().await;
    bob.delete(&gone).await.expect(204);
    nobody.settle().await;
    for path in ["/api/recipes?", "/api/recipes?cook=ann&"] {
        lists::offsets_show_each_item_once(&nobody, path, ("recipes", "slug")).await;
    }
    for (query, first, count) in [
        ("offset=1&limit=2", vec!["Soup 3", "Soup 2"], 5),
        ("cook=ann&limit=1", vec!["Soup 3"], 4),
        ("cook=bob", vec!["Cold soup"], 1),
        ("cook=zoe", vec![], 0),
    ] {
        let list = nobody.get(&format!("/api/recipes?{query}")).await.expect(200).json();
        assert_eq!((titles(&list), &list["recipesCount"]), (first, &json!(count)), "{query}");
    }
}

#[tokio::test]
async fn a_feed_has_the_recipes_of_the_followed_alone() {
    let [ann, bob, nobody] = users().await;
    let zoe = registered(&nobody, "zoe").await;
    for (cook, title) in [(&bob, "Bread"), (&ann, "Ann's own"), (&zoe, "Zoe's"), (&bob, "Cake")] {
        created(cook, title).await;
    }
    nobody.settle().await;
    let feed = async || ann.get("/api/recipes/feed").await.expect(200).json();
    assert_eq!(feed().await, json!({"recipes": [], "recipesCount": 0}));
    for _ in 0..2 {
        ann.call("POST", "/api/profiles/bob/follow", &[], None).await.expect(200);
    }
    ann.call("POST", "/api/profiles/carl/follow", &[], None).await.expect(404);
    assert_eq!(titles(&feed().await), ["Cake", "Bread"]);
    assert_eq!(feed().await["recipesCount"], 2);
    for (caller, expected) in [(&ann, true), (&bob, false), (&nobody, false)] {
        let profile = caller.get("/api/profiles/bob").await.expect(200).json();
        assert_eq!(profile["profile"]["following"], expected);
    }
    ann.call("POST", "/api/profiles/zoe/follow", &[], None).await.expect(200);
    assert_eq!(titles(&feed().await), ["Cake", "Zoe's", "Bread"]);
    ann.delete("/api/profiles/bob/follow").await.expect(200);
    assert_eq!(titles(&feed().await), ["Zoe's"]);
}

#[tokio::test]
async fn an_index_serves_each_query_and_each_index_serves_a_query() {
    let world = World::new().await;
    checks::send_examples(&world).await;
    checks::indexes::every_query_has_an_index(&world);
}

/// The figures of the page "An API that is not ours".
#[tokio::test]
async fn a_feed_costs_a_page_of_cards_and_an_edit_one_card_whoever_follows() {
    let [ann, bob, nobody] = users().await;
    let zoe = registered(&nobody, "zoe").await;
    let mut path = String::new();
    for n in 0..20 {
        created(&bob, &format!("Bread {n}")).await;
        path = created(&zoe, &format!("Cake {n}")).await;
    }
    nobody.settle().await;
    ann.call("POST", "/api/profiles/bob/follow", &[], None).await.expect(200);
    let units = async |path| {
        let (answer, requests) = ann.requests_of(ann.get(path)).await;
        assert_eq!(answer.expect(200).json()["recipes"].as_array().unwrap().len(), 20, "{path}");
        charged(&requests)
    };
    // The user, the number of all, and the page. The number costs 0.1 RU for each that it counts.
    assert_eq!(units("/api/recipes/feed").await, ["1.0 users", "5.3 cards", "5.5 cards"]);
    assert_eq!(units("/api/recipes").await, ["7.2 cards", "5.3 cards"]);
    // So does each that the page skips.
    assert_eq!(units("/api/recipes?offset=20").await, ["7.2 cards", "7.5 cards"]);
    zoe.put(&path, recipe("Tart")).await.expect(200);
    created(&bob, "One more").await;
    let ((), requests) = nobody.requests_of(nobody.settle()).await;
    let mut of_cards = charged(&requests);
    of_cards.retain(|request| request.ends_with("cards"));
    of_cards.sort_unstable();
    assert_eq!(of_cards, ["1.0 cards", "10.7 cards", "6.8 cards"]);
}

/// Returns the request units of each store request, with its container.
fn charged(requests: &[StoreRequest]) -> Vec<String> {
    let units = |request: &StoreRequest| request.answer.as_ref().unwrap().request_units;
    requests.iter().map(|it| format!("{:.1} {}", units(it), it.container)).collect()
}

#[tokio::test]
async fn each_request_costs_what_its_budget_says() {
    let [ann, _, nobody] = users().await;
    let path = created(&ann, "Soup").await;
    nobody.settle().await;
    let zoe = || Some(user("zoe", PASSWORD));
    let follow = "/api/profiles/bob/follow";
    let two = "2 requests, 11.70 RU: read recipes, replace recipes";
    for (method, path, body, cost) in [
        (
            "POST",
            "/api/users",
            zoe(),
            "3 requests, 13.30 RU: read users, create users, create users",
        ),
        ("POST", "/api/users/login", zoe(), "2 requests, 2.00 RU: read users, read users"),
        ("GET", "/api/profiles/bob", None, "2 requests, 2.00 RU: read users, read users"),
        ("POST", follow, None, "3 requests, 12.70 RU: read users, read users, replace users"),
        ("POST", "/api/recipes", Some(recipe("Cake")), "1 request, 6.15 RU: create recipes"),
        ("GET", &path, None, "1 request, 1.00 RU: read recipes"),
        ("PUT", &path, Some(recipe("Broth")), two),
        ("DELETE", &path, None, two),
    ] {
        budget(&ann, (method, path, body), cost).await;
    }
}
