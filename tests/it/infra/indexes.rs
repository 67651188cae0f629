//! The indexing policies of `infra/containers.json` against every query of the app.
//!
//! The local endpoint answers any query. Azure refuses an order by two properties for which there is
//! no composite index, and scans where a filter has no index. The rules are those of
//! <https://learn.microsoft.com/azure/cosmos-db/index-policy>; what they say about composite indexes
//! is under "Queries with a filter and ORDER BY" and "Queries with filters on multiple properties".

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use super::{root, text};
use crate::{
    audit,
    blog::{comment, like, post, user},
    world::World,
};

/// Filters that need no index, by container and property.
const EVALUATED_ON_ITEMS: [(&str, &str); 8] = [
    // Of a deleted post, all comments and likes are older, but for those of a later one.
    ("posts", "postVersion"),
    // Of a renamed tag, all products have an older name at first.
    ("product", "tags/[]/version"),
    // A search reads the items of its window: the guide keeps contents out of the index.
    ("feeds_current", "title"),
    ("feeds_current", "content"),
    ("feeds_current", "tagText"),
    ("feeds_historical", "title"),
    ("feeds_historical", "content"),
    ("feeds_historical", "tagText"),
];

/// All items of these are one logical partition, so its key would find them all.
const ONE_PARTITION: [&str; 2] = ["feed", "leaderboard"];

/// No domain has an aggregate yet, so its query is asked by `blog::proofs` alone.
const WITHOUT_A_DOMAIN: &str = "aggregate.rs";

/// A path of an index, and whether it is descending.
type Sorted = (String, bool);

#[derive(Clone)]
pub(super) struct Policy {
    container: String,
    /// The levels of the partition key.
    key: Vec<String>,
    ranges: Vec<String>,
    composites: Vec<Vec<Sorted>>,
}

pub(super) struct Asked {
    pub(super) container: String,
    pub(super) text: String,
    pub(super) in_partition: bool,
}

#[tokio::test]
async fn every_query_is_served_by_an_index_and_every_index_serves_a_query() {
    let asked = asked().await;
    for begin in texts_in_sources() {
        assert!(asked.iter().any(|one| one.text.contains(&begin)), "not asked: {begin}");
    }
    for policy in policies() {
        let of_container: Vec<&Asked> =
            asked.iter().filter(|one| one.container == policy.container).collect();
        let unserved = |policy: &Policy| -> Vec<String> {
            of_container.iter().flat_map(|one| unserved(policy, one)).collect()
        };
        assert_eq!(unserved(&policy), [""; 0]);
        if policy.composites.is_empty() && policy.ranges == policy.key {
            // The list of indexed paths may not be empty: its key is the least.
            continue;
        }
        for (what, without) in without_each(&policy) {
            assert!(!unserved(&without).is_empty(), "{}: {what} serves nobody", policy.container);
        }
    }
}

/// Every query of the app, asked.
async fn asked() -> Vec<Asked> {
    let world = World::new().await;
    for (id, name) in [("ann", "Ann"), ("bob", "Bob")] {
        user(&world, id, name).await.expect(201);
    }
    for id in ["p1", "p2"] {
        post(&world, id, "ann").await.expect(201);
        for user in ["ann", "bob"] {
            comment(&world, id, user, "Well.").await.expect(201);
            like(&world, id, user).await.expect(201);
        }
    }
    // So many that their copies in the feed are looked up by a query.
    for id in ["p3", "p4", "p5"] {
        post(&world, id, "ann").await.expect(201);
    }
    // Some of the requests that come at once repeat a like.
    tokio::join!(
        like(&world, "p1", "ann"),
        like(&world, "p1", "bob"),
        comment(&world, "p1", "bob", "!")
    );
    user(&world, "bob", "Rob").await.expect(200);
    world.settle().await;
    for n in 0..2 {
        let letter = json!({
            "id": format!("HomeFeed.{n}"), "function": "HomeFeed", "raw": "", "rawTruncated": false,
            "reason": "", "invocationId": "", "failedAt": "2026-11-21T09:25:54.120Z",
        });
        let letters = world.container("dead-letters").await;
        let id = letter["id"].as_str().unwrap();
        letters.create_item("HomeFeed".to_owned(), id, &letter, None).await.unwrap();
    }
    for list in [
        "/api/users/ann/posts?",
        "/api/posts/p1/comments?",
        "/api/posts/p1/likes?",
        "/api/dead-letters?function=HomeFeed&",
        "/api/dead-letters?",
    ] {
        let page = world.get(&format!("{list}limit=1")).await.expect(200).json();
        let cursor = page["nextCursor"].as_str().unwrap();
        world.get(&format!("{list}limit=1&cursor={cursor}")).await.expect(200);
    }
    world.get("/api/feed").await.expect(200);
    world.delete("/api/posts/p2").await.expect(204);
    world.settle().await;
    super::webstore_queries::ask(&world).await;
    super::news_queries::ask(&world).await;
    audit::repair_all(&world).await;
    audit::run_all(&world).await;
    let requests = world.endpoint.requests().into_iter();
    let asked = requests.filter_map(|request| {
        let text = as_written(&request.query?);
        Some(Asked {
            container: request.container,
            text,
            in_partition: request.names_partition_key,
        })
    });
    asked.collect()
}

/// A query as the app wrote it, in one line. The SDK wraps one that is sorted over all partitions.
fn as_written(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.split_once(" FROM c ") {
        Some((list, rest)) if list.contains("orderByItems") => {
            let rest = rest.replace("WHERE true ", "").replace("WHERE (", "WHERE ");
            format!("SELECT * FROM c {}", rest.replace(") AND true ", " "))
        }
        _ => text,
    }
}

/// Returns the beginning of each text of SQL in the sources, up to its first inserted part. A text
/// that is whole so far comes without its list, since the SDK changes the list.
fn texts_in_sources() -> BTreeSet<String> {
    let mut begins = BTreeSet::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("projection/aggregate.rs") {
                // Asked only where a domain has an aggregate; then the query is among those asked.
            } else if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with(WITHOUT_A_DOMAIN) {
                begins.extend(texts_in(&path));
            }
        }
    }
    assert!(begins.len() >= 8, "the queries have moved: {begins:#?}");
    begins
}

fn texts_in(file: &Path) -> Vec<String> {
    let source = fs::read_to_string(file).unwrap();
    let texts = source.split("\"SELECT ").skip(1);
    let begin = |text: &str| {
        let begin = text.split(['"', '{', '\\']).next().unwrap_or_default().trim_end();
        begin.find("FROM c ").map_or(begin, |from| &begin[from..]).to_owned()
    };
    texts.map(begin).collect()
}

/// The policies of our containers; that of the leases is the host's business.
fn policies() -> Vec<Policy> {
    let file: Value = serde_json::from_str(&text("infra/containers.json")).unwrap();
    let containers = file["containers"].as_array().unwrap().iter();
    let ours = containers.filter(|container| container["id"] != "leases");
    ours.map(policy).collect()
}

pub(super) fn policy(container: &Value) -> Policy {
    let path = |value: &Value| value["path"].as_str().unwrap().trim_start_matches('/').to_owned();
    let indexes = &container["indexingPolicy"];
    let list = |name: &str| indexes[name].as_array().cloned().unwrap_or_default();
    let composite = |index: &Value| {
        let paths = index.as_array().unwrap().iter();
        paths.map(|one| (path(one), one["order"] == "descending")).collect()
    };
    let key = container["partitionKey"]["paths"].as_array().unwrap().iter();
    let key = key.map(|path| path.as_str().unwrap().trim_start_matches('/').to_owned());
    let included = list("includedPaths");
    // The SDK leaves an empty list out, and then the store indexes everything.
    assert!(!included.is_empty(), "{}", container["id"]);
    Policy {
        container: container["id"].as_str().unwrap().to_owned(),
        key: key.collect(),
        ranges: included.iter().map(|one| path(one).trim_end_matches("/?").to_owned()).collect(),
        composites: list("compositeIndexes").iter().map(composite).collect(),
    }
}

/// The policy without each of its indexes.
pub(super) fn without_each(policy: &Policy) -> Vec<(String, Policy)> {
    let mut all = Vec::new();
    for n in 0..policy.ranges.len() {
        let mut without = policy.clone();
        all.push((format!("/{}/?", without.ranges.remove(n)), without));
    }
    for n in 0..policy.composites.len() {
        let mut without = policy.clone();
        all.push((format!("{:?}", without.composites.remove(n)), without));
    }
    all
}

/// The lookups of a query: by equality, in any other way, and the order.
#[derive(Debug, PartialEq, Eq)]
struct Lookup {
    equal: BTreeSet<String>,
    others: BTreeSet<String>,
    order: Vec<Sorted>,
}

fn lookup(text: &str) -> Lookup {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace(',', " , ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let order_at = words.iter().position(|word| *word == "ORDER").unwrap_or(words.len());
    let filter_at = words.iter().position(|word| *word == "WHERE").unwrap_or(order_at);
    // An element of an array, `JOIN t IN c.tags`, by its alias and the path of the array.
    let joined = words.windows(4).find(|four| four[0] == "JOIN" && four[2] == "IN");
    let joined = joined.and_then(|four| Some((four[1], four[3].strip_prefix("c.")?)));
    let path_of = |word: &str| {
        let (alias, path) = word.split_once('.')?;
        match joined {
            Some((element, array)) if alias == element => Some(format!("{array}/[]/{path}")),
            _ => (alias == "c").then(|| path.to_owned()),
        }
    };
    let (mut equal, mut others, mut depth) = (BTreeSet::new(), BTreeSet::new(), 0);
    for pair in words[filter_at..order_at].windows(2) {
        match pair[0] {
            "(" => depth += 1,
            ")" => depth -= 1,
            word => {
                let Some(path) = path_of(word) else { continue };
                let of = if depth == 0 && pair[1] == "=" { &mut equal } else { &mut others };
                of.insert(path);
            }
        }
    }
    let order = words[order_at..].iter().enumerate().filter_map(|(n, word)| {
        let path = word.strip_prefix("c.")?;
        Some((path.to_owned(), words.get(order_at + n + 1) == Some(&"DESC")))
    });
    Lookup { equal, others, order: order.collect() }
}

/// Returns the parts of a query that no index serves.
pub(super) fn unserved(policy: &Policy, asked: &Asked) -> Vec<String> {
    let Policy { container, key, ranges, composites } = policy;
    let Lookup { equal, others, order } = lookup(&asked.text);
    let mut served: BTreeSet<String> = ranges.iter().cloned().collect();
    // These have an index in every container.
    served.extend(["id".to_owned(), "_ts".to_owned()]);
    let mut missing = Vec::new();

    let sorts = |index: &&Vec<Sorted>| {
        let opposite: Vec<Sorted> =
            index.iter().map(|(path, descending)| (path.clone(), !descending)).collect();
        **index == order || opposite == order
    };
    match composites.iter().find(sorts) {
        // The items that are equal in its first properties stand together in it.
        Some(index) => {
            let begin = index.iter().map(|(path, _)| path).take_while(|path| equal.contains(*path));
            served.extend(begin.cloned());
        }
        None if order.len() > 1 || order.iter().any(|(path, _)| !served.contains(path)) => {
            missing.push(format!("order {order:?}"));
        }
        None => {}
    }
    for index in composites {
        let last = index.len() - 1;
        let fits = index
            .iter()
            .enumerate()
            .all(|(n, (path, _))| equal.contains(path) || (n == last && others.contains(path)));
        if fits {
            served.extend(index.iter().map(|(path, _)| path.clone()));
        }
    }
    let on_items = |path: &String| EVALUATED_ON_ITEMS.contains(&(container.as_str(), path));
    let filters = equal.union(&others).filter(|path| !served.contains(*path) && !on_items(path));
    missing.extend(filters.map(|path| format!("filter {path}")));
    // Ids find few items: that of a comment one, that of a like the user's likes of other posts.
    let by_id = others.contains("id");
    if asked.in_partition && !ONE_PARTITION.contains(&container.as_str()) && !by_id {
        let levels = key.iter().filter(|level| !served.contains(*level));
        missing.extend(levels.map(|level| format!("partition key {level}")));
    }
    let Asked { text, .. } = asked;
    missing.into_iter().map(|what| format!("{container}: {what} in {text}")).collect()
}

#[test]
fn a_query_is_taken_apart() {
    let paths = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect();
    let text = "SELECT (c.x = 1 ? c.y : c.z) AS v FROM c WHERE c.a = @a AND c.b IN (1, 2) \
                AND (c.d = 1 OR IS_DEFINED(c.e)) ORDER BY c.a DESC, c.f ASC, c.g";
    let sorted = [("a", true), ("f", false), ("g", false)];
    let order = sorted.map(|(path, descending)| (path.to_owned(), descending)).to_vec();
    let expected = Lookup { equal: paths(&["a"]), others: paths(&["b", "d", "e"]), order };
    assert_eq!(lookup(text), expected);

    let text = "SELECT VALUE c FROM c JOIN t IN c.tags WHERE t.id = @id AND t.version < 2";
    let (equal, others) = (paths(&["tags/[]/id"]), paths(&["tags/[]/version"]));
    assert_eq!(lookup(text), Lookup { equal, others, order: Vec::new() });
}
