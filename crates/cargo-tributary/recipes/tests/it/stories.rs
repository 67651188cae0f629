//! Stories of clients, who know the API alone.

use serde_json::{Value, json};
use tributary_testing::{StoreRequest, budget::budget, checks::lists};

use crate::World;

const PASSWORD: &str = "correct horse battery staple";

/// Registers a user. Returns the world of this user, who signs in by the token of the answer.
async fn registered(world: &World, name: &str) -> World {
    let email = format!("{name}@example.com");
    let user = json!({"user": {"username": name, "email": email, "password": PASSWORD}});
    world.post("/api/users", user).await.expect(201);
    world.as_caller(Some(name))
}

async fn users() -> [World; 3] {
    let nobody = World::new().await.as_caller(None);
    [registered(&nobody, "ann").await, registered(&nobody, "bob").await, nobody]
}

fn recipe(title: &str, tags: &[&str]) -> Value {
    json!({"recipe": {"title": title, "description": "D", "body": "B", "tagList": tags}})
}

/// Creates a recipe, and returns its path.
async fn created(cook: &World, title: &str, tags: &[&str]) -> String {
    let created = cook.post("/api/recipes", recipe(title, tags)).await.expect(201);
    created.header("location").to_owned()
}

fn titles(answer: &Value) -> Vec<&str> {
    let recipes = answer["recipes"].as_array().unwrap().iter();
    recipes.map(|recipe| recipe["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_user_logs_in_and_edits_what_the_body_has() {
    let [ann, _, nobody] = users().await;
    let login = async |email: &str, password: &str| {
        let body = json!({"user": {"email": email, "password": password}});
        nobody.post("/api/users/login", body).await
    };
    let token =
        login("Ann@example.com", PASSWORD).await.expect(200).json()["user"]["token"].clone();
    let token = format!("Bearer {}", token.as_str().unwrap());
    let me = nobody.call("GET", "/api/user", &[("authorization", &token)], None).await.expect(200);
    assert_eq!(me.json()["user"]["username"], "ann");
    let forged = format!("{}x", &token);
    nobody.call("GET", "/api/user", &[("authorization", &forged)], None).await.expect(401);
    let wrong = login("ann@example.com", "incorrect horse battery").await.expect(401);
    assert_eq!(login("zoe@example.com", PASSWORD).await.expect(401).text, wrong.text);

    let edit = async |user: Value| {
        let edited = ann.put("/api/user", json!({"user": user})).await.expect(200).json();
        (edited["user"]["bio"].clone(), edited["user"]["image"].clone())
    };
    assert_eq!(edit(json!({"bio": "B", "image": "I"})).await, (json!("B"), json!("I")));
    assert_eq!(edit(json!({"bio": null})).await, (json!(null), json!("I")));
    edit(json!({"password": "another long password"})).await;
    login("ann@example.com", PASSWORD).await.expect(401);
    login("ann@example.com", "another long password").await.expect(200);
}

#[tokio::test]
async fn a_name_and_an_address_have_one_user_in_any_case_until_it_gives_them_up() {
    let [ann, _, nobody] = users().await;
    let register = async |name: &str, email: &str| {
        let user = json!({"username": name, "email": email, "password": PASSWORD});
        nobody.post("/api/users", json!({"user": user})).await
    };
    for (name, email) in [("ANN", "a@example.com"), ("zoe", "ANN@example.com")] {
        let refused = register(name, email).await.expect(409).json();
        assert!(refused["errors"]["conflict"][0].as_str().unwrap().contains("Another user has"));
    }
    ann.put("/api/user", json!({"user": {"email": "bob@example.com"}})).await.expect(409);
    ann.put("/api/user", json!({"user": {"email": "new@example.com"}})).await.expect(200);
    register("zoe", "ann@example.com").await.expect(201);
    register("yan", "new@example.com").await.expect(409);
}

#[tokio::test]
async fn a_profile_says_whether_the_caller_follows_if_there_is_one() {
    let [ann, bob, nobody] = users().await;
    let follows = async |caller: &World| {
        caller.get("/api/profiles/bob").await.expect(200).json()["profile"]["following"].clone()
    };
    for _ in 0..2 {
        ann.call("POST", "/api/profiles/bob/follow", &[], None).await.expect(200);
    }
    for (caller, expected) in [(&ann, true), (&bob, false), (&nobody, false)] {
        assert_eq!(follows(caller).await, expected);
    }
    ann.delete("/api/profiles/bob/follow").await.expect(200);
    assert_eq!(follows(&ann).await, false);
    ann.call("POST", "/api/profiles/zoe/follow", &[], None).await.expect(404);
}

#[tokio::test]
async fn a_recipe_keeps_its_slug_and_belongs_to_its_cook() {
    let [ann, bob, nobody] = users().await;
    let path = created(&ann, "Crème brûlée!", &["sweet"]).await;
    assert!(path.starts_with("/api/recipes/creme-brulee-"), "{path}");
    assert_ne!(created(&ann, "Crème brûlée!", &[]).await, path);
    let bad = nobody.put(&path, recipe("", &[])).await.expect(401);
    assert!(bad.json()["errors"]["unauthorized"].is_array());
    let bad = ann.put(&path, recipe("", &[&"x".repeat(31)])).await.expect(422).json();
    let rule = bad["errors"]["recipe.title"][0].as_str().unwrap();
    assert_eq!(rule, "must be 1 to 100 characters long");
    assert!(bad["errors"]["recipe.tagList[0]"].is_array(), "{bad}");
    let edit = recipe("Custard", &["sweet"]);
    bob.put(&path, edit.clone()).await.expect(403);
    ann.put(&path, edit).await.expect(200);
    let read = nobody.get(&path).await.expect(200).json();
    let shown = &read["recipe"];
    assert_eq!((&shown["title"], &shown["tagList"]), (&json!("Custard"), &json!(["sweet"])));
    bob.delete(&path).await.expect(403);
    ann.delete(&path).await.expect(204);
    nobody.get(&path).await.expect(404);
}

#[tokio::test]
async fn a_favorite_counts_once_and_can_come_again() {
    let [ann, bob, nobody] = users().await;
    let path = created(&ann, "Soup", &[]).await;
    let favorite = format!("{path}/favorite");
    for (method, caller, favorited, count) in [
        ("POST", &bob, true, 1),
        ("POST", &bob, true, 1),
        ("POST", &ann, true, 2),
        ("DELETE", &bob, false, 1),
        ("DELETE", &bob, false, 1),
        ("POST", &bob, true, 2),
    ] {
        let answer = caller.call(method, &favorite, &[], None).await.expect(200).json();
        let recipe = &answer["recipe"];
        let shown = (&recipe["favorited"], &recipe["favoritesCount"]);
        assert_eq!(shown, (&json!(favorited), &json!(count)), "{method}");
    }
    assert_eq!(bob.get(&path).await.expect(200).json()["recipe"]["favorited"], true);
    assert_eq!(nobody.get(&path).await.expect(200).json()["recipe"]["favorited"], false);
    nobody.settle().await;
    let list = nobody.get("/api/recipes").await.expect(200).json();
    assert_eq!(list["recipes"][0]["favoritesCount"], 2);
}

#[tokio::test]
async fn lists_are_read_by_offset_with_the_number_of_all() {
    let [ann, bob, nobody] = users().await;
    for n in 0..4 {
        created(&ann, &format!("Soup {n}"), &["soup", "warm", "soup"]).await;
    }
    let gone = created(&bob, "Cake", &["sweet"]).await;
    created(&bob, "Cold soup", &["soup"]).await;
    nobody.settle().await;
    bob.delete(&gone).await.expect(204);
    nobody.settle().await;
    for path in ["/api/recipes?", "/api/recipes?tag=soup&", "/api/recipes?cook=ann&"] {
        lists::offsets_show_each_item_once(&nobody, path, ("recipes", "slug")).await;
    }
    for (query, first, count) in [
        ("offset=1&limit=2", vec!["Soup 3", "Soup 2"], 5),
        ("tag=warm&limit=1", vec!["Soup 3"], 4),
        ("tag=soup&cook=bob", vec!["Cold soup"], 1),
        ("tag=sweet", vec![], 0),
    ] {
        let list = nobody.get(&format!("/api/recipes?{query}")).await.expect(200).json();
        assert_eq!((titles(&list), &list["recipesCount"]), (first, &json!(count)), "{query}");
    }
    let tags = nobody.get("/api/tags").await.expect(200).json();
    assert_eq!(tags, json!({"tags": ["soup", "warm"]}));
}

#[tokio::test]
async fn a_feed_has_the_recipes_of_the_followed_alone() {
    let [ann, bob, nobody] = users().await;
    let zoe = registered(&nobody, "zoe").await;
    for (cook, title) in [(&bob, "Bread"), (&ann, "Ann's own"), (&zoe, "Zoe's"), (&bob, "Cake")] {
        created(cook, title, &[]).await;
    }
    nobody.settle().await;
    let feed = async || ann.get("/api/recipes/feed").await.expect(200).json();
    assert_eq!(feed().await, json!({"recipes": [], "recipesCount": 0}));
    ann.call("POST", "/api/profiles/bob/follow", &[], None).await.expect(200);
    assert_eq!(titles(&feed().await), ["Cake", "Bread"]);
    assert_eq!(feed().await["recipesCount"], 2);
    ann.call("POST", "/api/profiles/zoe/follow", &[], None).await.expect(200);
    assert_eq!(titles(&feed().await), ["Cake", "Zoe's", "Bread"]);
}

/// The figures of the page "An API that is not ours".
#[tokio::test]
async fn a_feed_costs_a_page_of_cards_and_a_favorite_one_card_whoever_follows() {
    let [ann, bob, nobody] = users().await;
    let zoe = registered(&nobody, "zoe").await;
    let mut path = String::new();
    for n in 0..20 {
        created(&bob, &format!("Bread {n}"), &[]).await;
        path = created(&zoe, &format!("Cake {n}"), &[]).await;
    }
    nobody.settle().await;
    ann.call("POST", "/api/profiles/bob/follow", &[], None).await.expect(200);
    let units = async |path| {
        let (answer, requests) = ann.requests_of(ann.get(path)).await;
        assert_eq!(answer.expect(200).json()["recipes"].as_array().unwrap().len(), 20, "{path}");
        charged(&requests)
    };
    // The user, the number of all, and the page. The number costs 0.1 RU for each that it counts.
    assert_eq!(units("/api/recipes/feed").await, ["1.0 users", "5.3 cards", "5.2 cards"]);
    assert_eq!(units("/api/recipes").await, ["7.3 cards", "5.0 cards"]);
    assert_eq!(units("/api/recipes?offset=20").await, ["7.3 cards", "5.0 cards"]);
    ann.call("POST", &format!("{path}/favorite"), &[], None).await.expect(200);
    created(&bob, "One more", &[]).await;
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
    let path = created(&ann, "Soup", &["soup"]).await;
    let favorite = format!("{path}/favorite");
    nobody.settle().await;
    let zoe = json!({"username": "zoe", "email": "zoe@example.com", "password": PASSWORD});
    let login = json!({"user": {"email": "zoe@example.com", "password": PASSWORD}});
    for (method, path, body, cost) in [
        (
            "POST",
            "/api/users",
            Some(json!({"user": zoe})),
            "4 requests, 19.45 RU: read users, create users, create users, create users",
        ),
        ("POST", "/api/users/login", Some(login), "2 requests, 2.00 RU: read users, read users"),
        ("GET", "/api/profiles/bob", None, "2 requests, 2.00 RU: read users, read users"),
        (
            "POST",
            "/api/profiles/bob/follow",
            None,
            "3 requests, 12.70 RU: read users, read users, replace users",
        ),
        (
            "POST",
            "/api/recipes",
            Some(recipe("Cake", &["sweet"])),
            "1 request, 6.15 RU: create recipes",
        ),
        ("GET", &path, None, "2 requests, 2.00 RU: read recipes, read recipes"),
        (
            "PUT",
            &path,
            Some(recipe("Broth", &["soup"])),
            "3 requests, 12.70 RU: read recipes, replace recipes, read recipes",
        ),
        (
            "POST",
            &favorite,
            None,
            "3 requests, 13.90 RU: read recipes, batch recipes, read recipes",
        ),
        (
            "DELETE",
            &favorite,
            None,
            "3 requests, 13.90 RU: read recipes, batch recipes, read recipes",
        ),
    ] {
        budget(&ann, (method, path, body), cost).await;
    }
}
