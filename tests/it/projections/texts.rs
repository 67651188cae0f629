//! Every text of the blog, through create, trigger, copies, queries and the replay of a dead letter,
//! under a host that leaves dates alone and under one that rewrites them.

use std::{fs, path::Path};

use futures::future::join_all;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use tributary_functions::values::may_be_rewritten_by_host;
use tributary_local::host::{Console, FeedOptions, FeedPump, newtonsoft::rewritten_date};

use crate::{blog::given, world::World};

/// Stops the trigger of a host that takes it for a date.
const KILLER: &str = "/Date(500000000000000)/";

/// The strings of the items that the real trigger was tried with.
fn recorded() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("crates/local/tests/recorded/trigger-texts.json");
    let recorded: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let items = recorded["items"].as_array().unwrap().iter();
    let items = items.map(|item| serde_json::from_str(item["stored"].as_str().unwrap()).unwrap());
    let texts: Vec<String> = items
        .flat_map(|item: serde_json::Map<String, Value>| item.into_iter())
        .filter_map(|(_, value)| value.as_str().map(str::to_owned))
        .collect();
    assert!(texts.len() > 30, "{texts:?}");
    texts
}

/// A text that Newtonsoft takes for a date, or nearly.
fn date() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]{4}-(0[1-9]|1[0-3])-[0-3][0-9]T(24:00:00|[0-2][0-9]:[0-5][0-9]:[0-5][0-9]([.][0-9]{0,9})?)\
              (Z|z|[+-][0-9]{2}(:?[0-9]{2})?|[0-9]{2})?",
        2 => "/Date\\(-?[0-9]{1,15}([+-][0-9]{0,4})?\\)/",
        1 => select(vec![KILLER, "9999-12-31T24:00:00Z"]).prop_map(str::to_owned),
    ]
}

/// What somebody may write.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(recorded()),
        3 => date(),
        1 => "\\PC{1,60}",
        1 => "[\u{0}-\u{20}\u{7f}\u{85}\u{2028}\u{2029}\u{feff}\"\\\\/<>&']{1,20}",
    ]
}

/// What somebody may be called.
fn name() -> impl Strategy<Value = String> {
    let texts = prop_oneof![2 => select(recorded()), 2 => date(), 1 => "[ -~]{1,64}"];
    let printable = |text: &String| text.chars().all(|char| (' '..='~').contains(&char));
    texts
        .prop_map(|text| text.trim().to_owned())
        .prop_filter("a username", move |text| (1..=64).contains(&text.len()) && printable(text))
}

/// What one author writes.
#[derive(Debug, Clone)]
struct Texts {
    names: [String; 2],
    titles: [String; 2],
    contents: [String; 2],
    comment: String,
}

fn texts() -> impl Strategy<Value = Texts> {
    let two = || [text(), text()];
    ([name(), name()], two(), two(), text()).prop_map(|(names, titles, contents, comment)| Texts {
        names,
        titles,
        contents,
        comment,
    })
}

impl Texts {
    /// Whether a host that parses dates can deliver them.
    fn are_readable(&self) -> bool {
        let Self { names, titles, contents, comment } = self;
        let all = [names, titles, contents].into_iter().flatten().chain([comment]);
        all.into_iter().all(|text| rewritten_date(text).is_ok())
    }
}

/// One author with a post and a comment on it.
struct Author<'a> {
    world: &'a World,
    number: usize,
    texts: &'a Texts,
}

impl Author<'_> {
    fn id(&self) -> String {
        format!("u{}", self.number)
    }

    fn post(&self) -> String {
        format!("/api/posts/p{}", self.number)
    }

    /// Two authors may want one name: then the number follows.
    async fn takes_name(&self, n: usize) -> String {
        let name = &self.texts.names[n];
        let answer = given::user(self.world, &self.id(), name).await;
        if answer.status.is_success() {
            return name.clone();
        }
        let name = format!("{name:.60}{}", self.number);
        let answer = given::user(self.world, &self.id(), &name).await;
        assert!(answer.status.is_success(), "{}", answer.text);
        name
    }

    async fn writes(&self, n: usize) {
        let Texts { titles, contents, .. } = self.texts;
        let body = json!({"userId": self.id(), "title": titles[n], "content": contents[n]});
        let answer = self.world.put(&self.post(), body).await;
        assert!(answer.status.is_success(), "{}", answer.text);
    }

    async fn comments(&self) {
        let id = format!("p{}", self.number);
        given::comment(self.world, &id, &self.id(), &self.texts.comment).await.expect(201);
    }

    /// Every query shows the texts as they were written.
    async fn is_shown(&self, name: &str, n: usize) {
        let Texts { titles, contents, comment, .. } = self.texts;
        let whole = self.world.get(&self.post()).await.expect(200).json();
        for (field, written) in
            [("userUsername", name), ("title", &titles[n]), ("content", &contents[n])]
        {
            assert_eq!(whole[field], written, "{field}");
        }
        let user = self.world.get(&format!("/api/users/{}", self.id())).await.expect(200).json();
        assert_eq!(user["username"], name);
        let comments = self.world.list(&format!("{}/comments", self.post())).await;
        assert_eq!(comments[0]["content"], *comment);
        assert_eq!(comments[0]["userUsername"], name);
        // The texts are shorter than a summary, so the copies are the post.
        let posts = self.world.list(&format!("/api/users/{}/posts", self.id())).await;
        assert_eq!(posts, std::slice::from_ref(&whole));
        let feed = self.world.list("/api/feed").await;
        assert!(feed.contains(&whole), "{whole} in {feed:?}");
    }
}

async fn live(world: &World, all: &[Texts]) {
    let authors: Vec<_> =
        all.iter().enumerate().map(|(number, texts)| Author { world, number, texts }).collect();
    for round in 0..2 {
        let mut names = Vec::new();
        for author in &authors {
            names.push(author.takes_name(round).await);
            author.writes(round).await;
            if round == 0 {
                author.comments().await;
            }
        }
        world.settle().await;
        join_all(authors.iter().zip(&names).map(|(author, name)| author.is_shown(name, round)))
            .await;
        assert!(world.items("dead-letters").await.is_empty());
        if round == 1 {
            copies_are_replayed(world).await;
            join_all(authors.iter().zip(&names).map(|(author, name)| author.is_shown(name, round)))
                .await;
        }
    }
}

/// Spoils every copy beside its author, delivers the posts, and replays the dead letters.
async fn copies_are_replayed(world: &World) {
    let users = world.container("users").await;
    let items = world.items("users").await;
    let copies: Vec<_> = items.iter().filter(|item| item["type"] == "post").collect();
    let place =
        |copy: &Value| [&copy["userId"], &copy["id"]].map(|v| v.as_str().unwrap().to_owned());
    for copy in &copies {
        let [partition, id] = place(copy);
        let mut spoilt = (*copy).clone();
        spoilt["version"] = "spoilt".into();
        users.upsert_item(partition, &id, &spoilt, None).await.unwrap();
    }
    let mut posts = world.items("posts").await;
    posts.retain(|item| item["type"] == "post");
    world.deliver("PostCopiesInUsers", &posts).await.unwrap();
    let letters = world.list("/api/dead-letters").await;
    assert_eq!(letters.len(), copies.len());
    for copy in &copies {
        let [partition, id] = place(copy);
        users.delete_item(partition, &id, None).await.unwrap();
    }
    for letter in letters {
        let path = format!("/api/dead-letters/{}/replay", letter["id"].as_str().unwrap());
        let outcome = world.post(&path, Value::Null).await.expect(200).json();
        assert_eq!(outcome["outcome"], "applied");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 100, ..ProptestConfig::default() })]

    #[test]
    fn every_text_is_shown_and_copied_as_it_was_written(all in vec(texts(), 1..6), parses_dates: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new().await;
            if parses_dates {
                let all: Vec<_> = all.into_iter().filter(Texts::are_readable).collect();
                live(&world.with_host_that_parses_dates(), &all).await;
            } else {
                live(&world, &all).await;
            }
        });
    }
}

proptest! {
    #[test]
    fn a_text_that_the_host_has_rewritten_is_known_by_its_form(text in text()) {
        if let Ok(Some(delivered)) = rewritten_date(&text) {
            prop_assert!(may_be_rewritten_by_host(&delivered), "{text} came as {delivered}");
        }
    }
}

#[tokio::test]
async fn a_text_that_no_date_can_hold_does_not_stop_the_feed() {
    let world = given::blog().await;
    given::comment(&world, "p1", "bob", KILLER).await.expect(201);
    let pumps = world
        .with_host_that_parses_dates()
        .pumps(&FeedOptions { console: Console::kept(), ..FeedOptions::default() });
    let drained = join_all(pumps.iter().map(FeedPump::drain)).await;
    let stopped = drained.into_iter().filter_map(Result::err).map(|error| error.to_string());
    let stopped: Vec<_> = stopped.collect();
    // This is what host.json keeps from happening.
    assert_eq!(stopped.len(), 3, "each trigger on posts stops: {stopped:?}");
    assert!(stopped[0].contains("encountered an unhandled user exception"), "{stopped:?}");
    assert!(
        world.get("/api/feed").await.expect(200).json()["items"].as_array().unwrap().is_empty()
    );

    world.settle().await;
    let feed = world.get("/api/feed").await.expect(200).json();
    assert_eq!(feed["items"][0]["commentCount"], 1);
}
