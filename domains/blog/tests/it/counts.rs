//! `commentCount` and `likeCount` always equal the numbers of comments and likes.

use futures::future::join_all;
use serde_json::json;

use super::given;

const N: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_edits_survive_each_other_from_two_instances() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    for n in 0..N {
        given::user(&world, &format!("u{n}"), &format!("User {n}")).await.expect(201);
        if n % 4 == 2 {
            given::like(&world, "p1", &format!("u{n}")).await.expect(201);
        }
    }

    let commands = (0..N).map(|n| {
        let world = if n / 4 % 2 == 0 { world.clone() } else { other.clone() };
        tokio::spawn(async move {
            let user = format!("u{n}");
            match n % 4 {
                0 => given::like(&world, "p1", &user).await.expect(201),
                1 => given::comment(&world, "p1", &user, "Nice").await.expect(201),
                2 => world.delete(&format!("/api/posts/p1/likes/{user}")).await.expect(204),
                _ => {
                    let body = json!({"userId": "ann", "title": user, "content": user});
                    world.put("/api/posts/p1", body).await.expect(200)
                }
            };
        })
    });
    let ends = join_all(commands).await;
    assert!(ends.iter().all(Result::is_ok), "a command failed; see above");

    assert_eq!(given::counts(&world, "p1").await, [(10, 10), (10, 10)]);
    let post = world.get("/api/posts/p1").await.expect(200).json();
    let edited_by: usize = post["title"].as_str().unwrap()[1..].parse().unwrap();
    assert_eq!(edited_by % 4, 3);
    assert_eq!(post["content"], post["title"]);
}
