//! Consistency tokens, and the store's part of them. The check `OwnWrites` has callers that see their own
//! writes at every instance.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::future::join_all;
use serde_json::json;
use tributary_functions::{app::AppOptions, http::ConsistencyOptions};
use tributary_testing::{
    Answer,
    RequestKind::{Query, Read},
    problems::problem,
};

use crate::{World, given};

const TOKEN: &str = "consistency-token";

async fn read(world: &World, path: &str, token: &str) -> Answer {
    world.call("GET", path, &[(TOKEN, token)], None).await
}

fn text(answer: &Answer) -> String {
    let text = BASE64_URL_SAFE_NO_PAD.decode(answer.header(TOKEN)).unwrap();
    String::from_utf8(text).unwrap()
}

fn token(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

async fn title(world: &World, token: Option<&str>) -> String {
    let headers: Vec<_> = token.iter().map(|token| (TOKEN, *token)).collect();
    let room = world.call("GET", "/api/rooms/r1", &headers, None).await.expect(200).json();
    room["title"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_read_with_a_token_costs_what_it_does_without() {
    let world = given::rooms().await;
    let booked = given::booking(&world, "r1", "bob").await.expect(201);
    for (path, kind) in [("/api/rooms/r1", Read), ("/api/rooms/r1/bookings", Query)] {
        let n_before = world.endpoint.request_count();
        let plain = world.get(path).await.expect(200);
        let with_token = read(&world, path, booked.header(TOKEN)).await.expect(200);
        assert_eq!(plain.header(TOKEN), "", "a query has no token");
        assert_eq!(plain.header("x-ms-request-charge"), with_token.header("x-ms-request-charge"));
        let kinds = world.endpoint.requests_since(n_before).into_iter().map(|request| request.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [kind, kind]);
    }
}

#[tokio::test]
async fn a_head_is_answered_as_its_get() {
    let world = given::rooms().await;
    let booked = given::booking(&world, "r1", "bob").await.expect(201);
    let headers = [(TOKEN, booked.header(TOKEN)), ("prefer", "consistency-cookie")];
    for path in ["/api/rooms/r1", "/api/rooms/r1/bookings"] {
        let [get, head] = ["GET", "HEAD"].map(|method| world.call(method, path, &headers, None));
        let (get, head) = (get.await.expect(200), head.await.expect(200));
        assert_eq!(head.text, "");
        for name in [TOKEN, "set-cookie", "copies-behind", "etag", "x-ms-request-charge"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
    }
}

#[tokio::test]
async fn an_instance_keeps_its_own_session_beside_that_of_a_caller() {
    let world = given::rooms().await;
    let other = world.second_instance().await;
    let early = given::titled(&world, "r1", "ann", "early").await.expect(200);
    let _frozen = world.stale_reads("rooms");
    given::titled(&other, "r1", "ann", "late").await.expect(200);
    assert_eq!(title(&other, None).await, "late");
    assert_eq!(title(&other, Some(early.header(TOKEN))).await, "late");
}

#[tokio::test]
async fn each_member_of_a_group_of_commands_gets_a_token_of_its_write() {
    let world = given::rooms().await;
    let _frozen = world.stale_reads("rooms");
    let people = ["ann", "bob", "ann", "bob", "ann"];
    let booked = join_all(people.map(|person| given::booking(&world, "r1", person))).await;
    for answer in booked {
        let other = world.second_instance().await;
        let booking = answer.expect(201);
        let list = read(&other, "/api/rooms/r1/bookings", booking.header(TOKEN)).await.json();
        assert!(list["items"].as_array().unwrap().contains(&booking.json()), "{list}");
    }
}

#[tokio::test]
async fn a_command_that_the_host_repeats_has_the_token_of_the_first() {
    let world = given::rooms().await;
    let _frozen = world.stale_reads("rooms");
    world.invoke("i", ("DELETE", "/api/rooms/r1")).await.expect(204);
    let repeated = world.second_instance().await.invoke("i", ("DELETE", "/api/rooms/r1")).await;
    let token = repeated.header(TOKEN);
    assert!(!token.is_empty(), "it wrote nothing, and has read the tombstone");
    problem(&read(&world.second_instance().await, "/api/rooms/r1", token).await, 404);
}

#[tokio::test]
async fn a_bad_token_is_refused_without_a_store_request() {
    let world = given::rooms().await;
    let good = given::titled(&world, "r1", "ann", "edited").await.expect(200);
    let (good_text, good) = (text(&good), good.header(TOKEN));
    let (_, positions) = good_text.split_at(good_text.find(',').unwrap() + 1);
    let (_, positions) = positions.split_once(',').unwrap();
    let n_before = world.endpoint.request_count();
    let later = good_text.replacen("1,1", "1,9", 1);
    for bad in [
        String::new(),
        "junk!".into(),
        token(""),
        token("junk"),
        token("1,now"),
        token(&later),
        token(&format!("1,-9223372036854775808,{positions}")),
        token(&format!("{good_text},")),
        token(&format!("{good_text},1/0:1#x")),
        token(&format!("{good_text},fffffffff/0:1#1#0=1")),
        "A".repeat(1_025),
    ] {
        for (method, path) in [("GET", "/api/rooms/r1"), ("DELETE", "/api/rooms/r1")] {
            let answer = world.call(method, path, &[(TOKEN, &bad)], None).await;
            let problem = problem(&answer, 400);
            assert_eq!(problem["errors"][0]["field"], "Consistency-Token", "{bad}");
        }
    }
    let twice = [(TOKEN, good), (TOKEN, good)];
    problem(&world.call("GET", "/api/rooms/r1", &twice, None).await, 400);
    assert_eq!(world.endpoint.request_count(), n_before);
    assert_eq!(title(&world, Some(good)).await, "edited");
}

#[tokio::test]
async fn an_old_token_asks_for_nothing() {
    let world = given::rooms().await;
    let _frozen = world.stale_reads("rooms");
    let edited = given::titled(&world, "r1", "ann", "edited").await.expect(200);
    let text = text(&edited);
    let (_, rest) = text.split_once(',').unwrap();
    let (issued, positions) = rest.split_once(',').unwrap();
    let aged = |seconds: i64| {
        let issued = issued.parse::<i64>().unwrap() - seconds;
        token(&format!("1,{issued},{positions}"))
    };
    let other = world.second_instance().await;
    assert_eq!(title(&other, Some(&aged(15 * 60 + 5))).await, "A title");
    assert_eq!(title(&other, Some(&aged(14 * 60))).await, "edited");
}

#[tokio::test]
async fn a_position_that_no_write_has_had_is_answered_by_the_latest_state_and_forgotten() {
    let world = given::rooms().await;
    let _frozen = world.stale_reads("rooms");
    let edited = given::titled(&world, "r1", "ann", "edited").await.expect(200);
    let forged = token(&text(&edited).replace('#', "#9").replace('=', "=9"));
    let other = world.second_instance().await;
    assert_eq!(title(&other, Some(&forged)).await, "edited");
    read(&other, "/api/rooms/r1/bookings", &forged).await.expect(200);
    problem(&read(&other, "/api/rooms/none", &forged).await, 404);
    let put = Some(json!({"personId": "ann", "title": "again"}));
    other.call("PUT", "/api/rooms/r1", &[(TOKEN, &forged)], put).await.expect(200);
    // Other callers of the instance ask for what they did before.
    let n_before = other.endpoint.request_count();
    assert_eq!(title(&other, None).await, "again");
    assert_eq!(title(&other, Some(edited.header(TOKEN))).await, "again");
    assert_eq!(other.endpoint.request_count() - n_before, 2);
}

#[tokio::test]
async fn a_browser_keeps_the_token_in_a_cookie() {
    let world = given::rooms().await;
    let _frozen = world.stale_reads("rooms");
    let body = |title: &str| Some(json!({"personId": "ann", "title": title}));
    let prefers = [("prefer", "consistency-cookie")];
    let edited = world.call("PUT", "/api/rooms/r1", &prefers, body("one")).await.expect(200);
    assert_eq!(edited.header("preference-applied"), "consistency-cookie");
    let cookie = edited.header("set-cookie");
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(pair, format!("consistency-token={}", edited.header(TOKEN)));
    assert_eq!(attributes, "Path=/api; Max-Age=900; HttpOnly; SameSite=Lax; Secure");
    let other = world.second_instance().await;
    let cookies = format!("theme=dark; {pair}");
    let cookies = [("cookie", cookies.as_str())];
    let room = other.call("GET", "/api/rooms/r1", &cookies, None).await.expect(200).json();
    assert_eq!(room["title"], "one");
    let again = other.call("PUT", "/api/rooms/r1", &cookies, body("two")).await.expect(200);
    assert!(again.header("set-cookie").starts_with("consistency-token="), "it is renewed");
    // No script could remove a bad cookie.
    let bad = [("cookie", "consistency-token=junk")];
    world.call("GET", "/api/rooms/r1", &bad, None).await.expect(200);
    let plain = given::titled(&world, "r1", "ann", "three").await.expect(200);
    assert_eq!(plain.header("set-cookie"), "", "without the preference there is none");
    let consistency = ConsistencyOptions { secure_cookies: false, ..Default::default() };
    let laptop = world.with_app(AppOptions { consistency, ..World::options() }).await;
    let edited = laptop.call("PUT", "/api/rooms/r1", &prefers, body("four")).await.expect(200);
    assert!(edited.header("set-cookie").ends_with("SameSite=Lax"), "{edited:?}");
}
