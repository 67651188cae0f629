//! The indexing policies of `infra/containers.json` against the queries that an app sends.
//!
//! The local endpoint answers any query. Azure refuses an order by two properties for which there is
//! no composite index, and scans where a filter has no index. The rules are those of
//! <https://learn.microsoft.com/azure/cosmos-db/index-policy>; what they say about composite indexes
//! is under "Queries with a filter and ORDER BY" and "Queries with filters on multiple properties".

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use cosmos_model::sql::{Binary, Expr, Logical, Query, Values};
use serde_json::Value;

use crate::{AppUnderTest, World};

const LEASES: &str = "leases";

/// The containers that functions of the framework query.
const OF_FRAMEWORK: [&str; 2] = ["dead-letters", "projections"];

/// A path of an index, and true if it is descending.
type Sorted = (String, bool);

/// The indexes of a container.
#[derive(Debug, Clone)]
struct Policy {
    container: String,
    key: Vec<String>,
    ranges: Vec<String>,
    composites: Vec<Vec<Sorted>>,
    unindexed: BTreeSet<String>,
    /// True if all items are one logical partition, so that its key would find them all.
    is_one_partition: bool,
}

/// A query as an app has sent it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SentQuery {
    container: String,
    text: String,
    in_partition: bool,
}

/// Holds the queries that a world has seen against the containers of the app: an index serves each query,
/// and each index serves a query. Each text of SQL in the sources of the app has been sent.
///
/// The world gets its queries from [`send_examples`](super::send_examples), and from what else the story
/// does for a query that needs a special state.
pub fn every_query_has_an_index<A: AppUnderTest>(world: &World<A>) {
    let sent = sent_queries(world);
    let mut faults = Vec::new();
    for begin in texts_in_sources::<A>() {
        if !sent.iter().any(|query| query.text.contains(&begin)) {
            faults.push(format!(
                "No example sends the query with `{begin}`. Bring the world into a state in which it is \
                 sent, before the check."
            ));
        }
    }
    for policy in policies(world) {
        let of_container = sent.iter().filter(|query| query.container == policy.container);
        let of_container: Vec<&SentQuery> = of_container.collect();
        faults.extend(policy.faults(&of_container));
    }
    assert!(faults.is_empty(), "\n\n{}\n", faults.join("\n\n"));
}

fn sent_queries<A: AppUnderTest>(world: &World<A>) -> BTreeSet<SentQuery> {
    let requests = world.endpoint.requests().into_iter();
    let sent = requests.filter_map(|request| {
        let text = as_written(&request.query?);
        let in_partition = request.names_partition_key;
        Some(SentQuery { container: request.container, text, in_partition })
    });
    sent.collect()
}

fn policies<A: AppUnderTest>(world: &World<A>) -> Vec<Policy> {
    let text = fs::read_to_string(Path::new(A::ROOT).join("infra/containers.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let app = A::program().describe().unwrap();
    let requests = world.endpoint.requests();
    let containers = file["containers"].as_array().unwrap().iter().map(Policy::from_container);
    let mut policies: Vec<Policy> =
        containers.filter(|policy| policy.container != LEASES).collect();
    for policy in &mut policies {
        let unindexed = app.domains.iter().flat_map(|domain| &domain.unindexed_filters);
        let own = unindexed.filter(|(container, _)| *container == policy.container);
        policy.unindexed = own.map(|(_, property)| (*property).to_owned()).collect();
        let own = requests.iter().filter(|request| request.container == policy.container);
        let keys: BTreeSet<_> = own.filter_map(|request| request.partition_key.as_ref()).collect();
        policy.is_one_partition = keys.len() == 1;
    }
    policies
}

/// Returns a query as the app wrote it, in one line. The SDK wraps one that is sorted over all partitions.
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
fn texts_in_sources<A: AppUnderTest>() -> BTreeSet<String> {
    let files = files(&Path::new(A::ROOT).join("src"));
    let sources = files.iter().map(|file| fs::read_to_string(file).unwrap_or_default());
    let begin = |text: &str| {
        let begin = text.split(['"', '{', '\\']).next().unwrap_or_default().trim_end();
        begin.find("FROM c ").map_or(begin, |from| &begin[from..]).to_owned()
    };
    let begins =
        |source: String| -> Vec<String> { source.split("\"SELECT ").skip(1).map(begin).collect() };
    sources.flat_map(begins).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

impl Policy {
    /// Returns the indexes of a container, as it stands in `containers.json`.
    fn from_container(container: &Value) -> Self {
        let path = |value: &Value| {
            let path = value.as_str().unwrap();
            path.trim_start_matches('/').trim_end_matches("/?").to_owned()
        };
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let indexes = &container["indexingPolicy"];
        let ranges = list(&indexes["includedPaths"]);
        // The SDK leaves an empty list out, and then the store indexes everything.
        assert!(!ranges.is_empty(), "{} needs `includedPaths`", container["id"]);
        let level = |level: &Value| (path(&level["path"]), level["order"] == "descending");
        let composites = list(&indexes["compositeIndexes"]);
        Self {
            container: container["id"].as_str().unwrap().to_owned(),
            key: list(&container["partitionKey"]["paths"]).iter().map(path).collect(),
            ranges: ranges.iter().map(|range| path(&range["path"])).collect(),
            composites: composites.iter().map(|it| list(it).iter().map(level).collect()).collect(),
            unindexed: BTreeSet::new(),
            is_one_partition: false,
        }
    }

    /// Returns the missing and the superfluous indexes for these queries, in words for the author.
    fn faults(&self, queries: &[&SentQuery]) -> Vec<String> {
        let serves = |policy: &Self| queries.iter().all(|query| policy.unserved(query).is_empty());
        let container = &self.container;
        let missing = queries.iter().flat_map(|query| self.unserved(query)).map(|what| {
            format!(
                "{what}\nAdd an index to `{container}` in infra/containers.json. If the store evaluates the \
                 filter on few items, add (\"{container}\", property) to `unindexed_filters` in the mod.rs \
                 of the domain instead."
            )
        });
        let mut faults: Vec<String> = missing.collect();
        for filter in &self.unindexed {
            let mut without = self.clone();
            without.unindexed.remove(filter);
            if serves(&without) {
                faults.push(format!(
                    "No query needs (\"{container}\", \"{filter}\"): remove it from `unindexed_filters` of \
                     its domain."
                ));
            }
        }
        // An app without a change that could not be applied does not read them.
        if OF_FRAMEWORK.contains(&container.as_str()) && queries.is_empty() {
            return faults;
        }
        // The list of indexed paths may not be empty: its key is the least.
        let n_least = if self.ranges == self.key { self.key.len() } else { 0 };
        for (index, without) in self.without_each().into_iter().skip(n_least) {
            if serves(&without) {
                faults.push(format!(
                    "{container}: the index {index} serves no query. Remove it from \
                     infra/containers.json, or bring the world into a state in which its query is sent."
                ));
            }
        }
        faults
    }

    /// Returns the policy without each of its indexes.
    fn without_each(&self) -> Vec<(String, Self)> {
        let ranges = (0..self.ranges.len()).map(|n| {
            let mut without = self.clone();
            (format!("/{}/?", without.ranges.remove(n)), without)
        });
        let composites = (0..self.composites.len()).map(|n| {
            let mut without = self.clone();
            (format!("{:?}", without.composites.remove(n)), without)
        });
        ranges.chain(composites).collect()
    }

    /// Returns the parts of a query that no index serves.
    fn unserved(&self, query: &SentQuery) -> Vec<String> {
        let Self { container, key, ranges, composites, .. } = self;
        let Lookup { equal, others, order } = Lookup::from_query(&query.text);
        let mut served: BTreeSet<String> = ranges.iter().cloned().collect();
        // These have an index in every container.
        served.extend(["id".to_owned(), "_ts".to_owned()]);
        let mut missing = Vec::new();

        let opposite: Vec<Sorted> =
            order.iter().map(|(path, descending)| (path.clone(), !descending)).collect();
        let sorts = |index: &&Vec<Sorted>| **index == order || **index == opposite;
        match composites.iter().find(sorts) {
            // The items that are equal in its first properties stand together in it.
            Some(index) => {
                let begin = index.iter().map(|(path, _)| path);
                served.extend(begin.take_while(|path| equal.contains(*path)).cloned());
            }
            None if order.len() > 1 || order.iter().any(|(path, _)| !served.contains(path)) => {
                missing.push(format!("order {order:?}"));
            }
            None => {}
        }
        for index in composites {
            let Some(((last, _), begin)) = index.split_last() else { continue };
            let is_equal = begin.iter().all(|(path, _)| equal.contains(path));
            if is_equal && (equal.contains(last) || others.contains(last)) {
                served.extend(index.iter().map(|(path, _)| path.clone()));
            }
        }
        let needs_index =
            |path: &&String| !served.contains(*path) && !self.unindexed.contains(*path);
        let filters = equal.union(&others).filter(needs_index);
        missing.extend(filters.map(|path| format!("filter {path}")));
        // Ids find few items: that of a comment one, that of a like the user's likes of other posts.
        let by_id = others.contains("id");
        if query.in_partition && !self.is_one_partition && !by_id {
            let levels = key.iter().filter(|level| !served.contains(*level));
            missing.extend(levels.map(|level| format!("partition key {level}")));
        }
        let fault = |what| format!("{container} has no index: {what} in {}", query.text);
        missing.into_iter().map(fault).collect()
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Lookup {
    equal: BTreeSet<String>,
    others: BTreeSet<String>,
    order: Vec<Sorted>,
}

impl Lookup {
    fn from_query(text: &str) -> Self {
        let parsed = text.parse::<Query>();
        let query = parsed.unwrap_or_else(|error| panic!("{text}: {error}"));
        let root = query.root().unwrap_or_default();
        // An element of an array, `JOIN t IN c.tags`, by its alias and the path of the array.
        let joined = query.from.iter().skip(1).find_map(|source| match &source.values {
            Values::Path(_, steps) if source.iterates => Some((source.alias.as_deref()?, steps)),
            _ => None,
        });
        let path_of = |part: &Expr| {
            let (alias, path) = part.property()?;
            let path = path.names().join("/");
            match joined {
                Some((element, steps)) if alias == element => {
                    let array: Vec<&str> = steps.iter().filter_map(Value::as_str).collect();
                    Some(format!("{}/[]/{path}", array.join("/")))
                }
                _ => (alias == root).then_some(path),
            }
        };
        let mut equal = BTreeSet::new();
        let mut others = BTreeSet::new();
        let mut conditions: Vec<&Expr> = query.filter.iter().collect();
        while let Some(condition) = conditions.pop() {
            let rest = match condition {
                Expr::Logical(Logical::And, all) => {
                    conditions.extend(all);
                    continue;
                }
                Expr::Binary(Binary::Equal, left, right) => {
                    let path = path_of(left);
                    let rest = if path.is_some() { right.as_ref() } else { condition };
                    equal.extend(path);
                    rest
                }
                condition => condition,
            };
            let mut parts = vec![rest];
            while let Some(part) = parts.pop() {
                match (path_of(part), part) {
                    (Some(path), _) => drop(others.insert(path)),
                    (None, Expr::Call(name, arguments)) if name == "ARRAY_CONTAINS" => {
                        let array = arguments.first().and_then(path_of);
                        others.extend(array.map(|array| format!("{array}/[]")));
                        parts.extend(arguments.iter().skip(1));
                    }
                    _ => parts.extend(part.parts()),
                }
            }
        }
        let order = query.order_by.iter();
        let order = order.filter_map(|order| Some((path_of(&order.by)?, order.descending)));
        Self { equal, others, order: order.collect() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|&path| path.to_owned()).collect()
    }

    #[test]
    fn a_query_is_taken_apart() {
        let text = "SELECT (c.x = 1 ? c.y : c.z) AS v FROM c WHERE c.a = @a AND c.b IN (1, 2) \
                    AND (c[\"d\"] > 1 OR IS_DEFINED(c.e)) ORDER BY c.a DESC, c.f ASC, c.g";
        let sorted = [("a", true), ("f", false), ("g", false)];
        let order = sorted.map(|(path, descending)| (path.to_owned(), descending)).to_vec();
        let expected = Lookup { equal: paths(&["a"]), others: paths(&["b", "d", "e"]), order };
        assert_eq!(Lookup::from_query(text), expected);

        let text = "SELECT VALUE c FROM c JOIN t IN c.tags WHERE t.id = @id AND t.version < 2";
        let equal = paths(&["tags/[]/id"]);
        let others = paths(&["tags/[]/version"]);
        assert_eq!(Lookup::from_query(text), Lookup { equal, others, order: Vec::new() });
        let text =
            "SELECT * FROM c WHERE ARRAY_CONTAINS(c.tags, @tag) AND ARRAY_CONTAINS(@all, c.a)";
        assert_eq!(Lookup::from_query(text).others, paths(&["a", "tags/[]"]));
    }

    #[test]
    fn a_missing_and_a_superfluous_index_are_named_with_the_file() {
        let policy = Policy::from_container(&json!({
            "id": "rooms",
            "partitionKey": {"paths": ["/roomId"]},
            "indexingPolicy": {"includedPaths": [{"path": "/roomId/?"}, {"path": "/type/?"}]},
        }));
        let query = |filter: &str| SentQuery {
            container: "rooms".into(),
            text: format!("SELECT * FROM c WHERE {filter}"),
            in_partition: true,
        };
        let by_type = query("c.type = 'booking'");
        assert_eq!(policy.faults(&[&by_type]), [""; 0]);
        let faults = policy.faults(&[&by_type, &query("c.seats > 4")]);
        assert!(faults.len() == 1 && faults[0].contains("filter seats"), "{faults:?}");
        assert!(faults[0].contains("`rooms` in infra/containers.json"), "{faults:?}");
        let faults = policy.faults(&[]);
        assert_eq!(faults.iter().filter(|fault| fault.contains("serves no query")).count(), 2);
        let of_framework = Policy { container: "dead-letters".into(), ..policy.clone() };
        assert_eq!(of_framework.faults(&[]), [""; 0], "an app may have no dead letters");

        let unindexed = Policy { unindexed: paths(&["seats"]), ..policy };
        assert_eq!(unindexed.faults(&[&by_type, &query("c.seats > 4")]), [""; 0]);
        let faults = unindexed.faults(&[&by_type]);
        assert!(faults.len() == 1 && faults[0].contains("unindexed_filters"), "{faults:?}");
    }
}
