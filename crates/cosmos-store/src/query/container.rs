//! What the definition of a container says for a query: the order that its indexes have, and computed properties.

use cosmos_model::{
    charges::policy,
    sql::{Expr, Logical, Order, Query, Select, Test, Values},
};
use serde_json::Value;

use super::Path;
use crate::{
    Refusal, Result,
    engine::Definition,
    sql::{NO_PATH, Prepared, columns, is_score, refused},
};

/// The indexing policy of a container.
pub(super) struct Policy<'a> {
    definition: &'a Definition,
    /// The paths of each composite index, and true for those in descending order.
    pub composites: Vec<Vec<(Path, bool)>>,
}

impl<'a> Policy<'a> {
    pub(super) fn new(definition: &'a Definition) -> Self {
        let json = &definition.json["indexingPolicy"];
        let index = |index: &Value| {
            let paths = index.as_array().into_iter().flatten().map(|path| {
                let names = path["path"].as_str().unwrap_or_default();
                (policy::steps_of(names), path["order"] == "descending")
            });
            paths.collect()
        };
        let composites = json["compositeIndexes"].as_array().into_iter().flatten().map(index);
        Self { composites: composites.collect(), definition }
    }

    pub(super) fn covers(&self, path: &[String]) -> bool {
        self.definition.indexes(path)
    }

    /// Checks that the indexes of the policy have this order. Errors: 400 with the service's texts.
    pub(super) fn check_order(&self, order: &[(Path, bool)]) -> Result<()> {
        let refusal = |text: &str| Refusal::new(400, format!("{{\"Errors\":[\"{text}\"]}}"));
        match order {
            [] => Ok(()),
            [(path, _)] if self.covers(path) => Ok(()),
            [_] => Err(refusal(
                "The index path corresponding to the specified order-by item is excluded.",
            )),
            order if self.composites.iter().any(|index| has_order(index, order)) => Ok(()),
            _ => Err(refusal(
                "The order by query does not have a corresponding composite index that it can be served from.",
            )),
        }
    }

    /// Returns true if ORDER BY of a property has the items without it. An index has them only if the policy includes
    /// the path by name (<https://learn.microsoft.com/cosmos-db/query/order-by>).
    pub(super) fn has_undefined(&self, path: &[String]) -> bool {
        self.definition.policy.named_paths().any(|named| named.iter().eq(path.iter()))
    }
}

/// Returns true if an index has this order, from its begin or from its end.
fn has_order(index: &[(Path, bool)], order: &[(Path, bool)]) -> bool {
    let is_same = |reversed: bool| {
        let mut pairs = index.iter().zip(order);
        pairs.all(|(one, other)| one.0 == other.0 && one.1 == (other.1 != reversed))
    };
    index.len() == order.len() && (is_same(false) || is_same(true))
}

/// Returns the paths by which a query sorts, and true for descending ones. Those of an order by distance, or by a
/// computed property, are none. Errors: 400 for another expression.
pub(super) fn order_paths(query: &Query) -> Result<Vec<(Path, bool)>> {
    let path = |order: &Order| match order.by.property() {
        Some((root, path)) if Some(root) == query.root() => {
            Ok((path.names().to_vec(), order.descending))
        }
        Some(_) => {
            let message = "Order-by over correlated collections is not supported.";
            Err(Refusal::new(400, message))
        }
        None => Err(refused("SC2206", NO_PATH, None)),
    };
    query.order_by.iter().map(path).collect()
}

pub(super) fn is_computed(path: &[String], definition: &Definition) -> bool {
    let mut properties = definition.json["computedProperties"].as_array().into_iter().flatten();
    path.first().is_some_and(|first| properties.any(|property| property["name"] == first.as_str()))
}

/// Returns true for an order by a distance or score, which no index has.
pub(super) fn is_by_distance(query: &Query) -> bool {
    query.order_by.first().is_some_and(|order| is_score(&order.by))
}

/// Returns the query with what the container defines for it. `None` if that is nothing.
///
/// - The expressions of computed properties are in the places of their names.
/// - Distances have the functions of the container's vectors.
/// - ORDER BY of one property is a condition that items have it: an index has the others only if the policy includes
///   the path by name. A composite index has all
///   (<https://learn.microsoft.com/azure/cosmos-db/nosql/query/order-by>).
///
/// # Errors
/// As [`Prepared::new`].
pub(super) fn resolved(
    query: &Prepared,
    definition: &Definition,
    policy: &Policy<'_>,
) -> Result<Option<Prepared>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let properties = list(&definition.json["computedProperties"]);
    let embeddings = list(&definition.json["vectorEmbeddingPolicy"]["vectorEmbeddings"]);
    let Some(root) = query.query.root() else { return Ok(None) };
    let computed: Vec<_> =
        properties.iter().filter_map(|property| computed_property(property, root)).collect();
    let mut changed = query.query.clone();
    if let [order] = query.query.order_by.as_slice()
        && let Some((alias, path)) = order.by.property()
        && alias == root
        && !policy.has_undefined(path.names())
    {
        let is_defined = Expr::Call("IS_DEFINED".to_owned(), vec![order.by.clone()]);
        changed.filter = Some(match changed.filter.take() {
            Some(filter) => Expr::Logical(Logical::And, vec![filter, is_defined]),
            None => is_defined,
        });
    }
    if let Select::List(list) = &mut changed.select {
        // A column keeps the name of its property.
        let names: Vec<String> =
            columns(&query.query.select).into_iter().map(|(name, _)| name).collect();
        for ((expr, alias), name) in list.iter_mut().zip(names) {
            let is_computed = computed.iter().any(|(computed, _)| *computed == name);
            if is_computed && matches!(expr, Expr::Member(..)) {
                *alias = Some(name);
            }
        }
    }
    replace_in(&mut changed, &|part| match part {
        Expr::Member(of, step) => match (of.as_ref(), step.as_ref()) {
            (Expr::Name(alias), Expr::Literal(Value::String(name))) if alias == root => {
                let value = computed.iter().find(|(computed, _)| computed == name);
                value.map(|(_, value)| value.clone())
            }
            _ => None,
        },
        Expr::Call(name, arguments)
            if name != "_FULLTEXTSCORE" && is_score(part) && arguments.len() < 4 =>
        {
            let is_of = |embedding: &&Value| {
                let path = policy::steps_of(embedding["path"].as_str().unwrap_or_default());
                let mut paths = arguments.iter().filter_map(Expr::property);
                paths.any(|(_, found)| found.names() == path)
            };
            let function = embeddings.iter().find(is_of)?.get("distanceFunction")?.clone();
            let mut arguments = arguments.clone();
            arguments.resize(3, Expr::Literal(false.into()));
            arguments
                .push(Expr::Object(vec![("distanceFunction".to_owned(), Expr::Literal(function))]));
            Some(Expr::Call(name.clone(), arguments))
        }
        _ => None,
    });
    if changed == query.query {
        return Ok(None);
    }
    Prepared::of(changed, query.parameters.clone()).map(Some)
}

/// Returns the name of a computed property and its expression over the source of this name.
fn computed_property<'a>(property: &'a Value, root: &str) -> Option<(&'a str, Expr)> {
    let query: Query = property["query"].as_str()?.parse().ok()?;
    let own_root = query.root()?.to_owned();
    let Select::Value(mut value) = query.select else { return None };
    replace(&mut value, &|part| match part {
        Expr::Name(alias) if *alias == own_root => Some(Expr::Name(root.to_owned())),
        _ => None,
    });
    Some((property["name"].as_str()?, value))
}

type Replace<'a> = &'a dyn Fn(&Expr) -> Option<Expr>;

fn replace_in(query: &mut Query, by: Replace<'_>) {
    match &mut query.select {
        Select::All => {}
        Select::Value(value) => replace(value, by),
        Select::List(list) => list.iter_mut().for_each(|(expr, _)| replace(expr, by)),
    }
    for source in &mut query.from {
        if let Values::Query(inner) = &mut source.values {
            replace_in(inner, by);
        }
    }
    query.filter.iter_mut().for_each(|filter| replace(filter, by));
    query.group_by.iter_mut().for_each(|group| replace(group, by));
    query.order_by.iter_mut().for_each(|order| replace(&mut order.by, by));
}

fn replace(expr: &mut Expr, by: Replace<'_>) {
    if let Some(other) = by(expr) {
        *expr = other;
        return;
    }
    let mut parts: Vec<&mut Expr> = Vec::new();
    match expr {
        Expr::Undefined | Expr::Literal(_) | Expr::Parameter(_) | Expr::Name(_) => {}
        Expr::Member(one, other) | Expr::Binary(_, one, other) => parts.extend([&mut **one, other]),
        Expr::Unary(_, one) => parts.push(one),
        Expr::Array(all) | Expr::Logical(_, all) | Expr::Call(_, all) => parts.extend(all),
        Expr::Object(all) => parts.extend(all.iter_mut().map(|(_, part)| part)),
        Expr::Conditional(all) => parts.extend(all.iter_mut()),
        Expr::Test(of, test, _) => {
            parts.push(of);
            match test.as_mut() {
                Test::In(all) => parts.extend(all),
                Test::Between(from, to) => parts.extend([from, to]),
                Test::Like(pattern, _) => parts.push(pattern),
            }
        }
        Expr::Query(_, query) => replace_in(query, by),
    }
    for part in parts {
        replace(part, by);
    }
}
