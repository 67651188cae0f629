//! Names that are reserved for a user that does not have them.

use std::collections::HashMap;

use azure_data_cosmos::DatabaseClient;
use serde_json::Value;

use super::{Blog, operation::user_id};
use crate::items;

/// A name and the user that reserved it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameReservation {
    /// In lower case.
    pub name: String,
    /// The id of the user.
    pub owner: String,
}

impl Blog {
    /// Returns the leaked reservations of names that no killed handler explains, a sentence each.
    ///
    /// A handler that is killed while it renames a user leaves one reservation at most: of the new name
    /// if it stopped before the rename, or of the old one. So the user once asked for the name and does
    /// not have it, and no user has left more reservations than there were kills.
    pub fn unexplained_reservations(&self, left: &[NameReservation]) -> Vec<String> {
        let mut kills: Vec<usize> = self.users.iter().map(|user| user.killed).collect();
        let mut is_explained = |NameReservation { name, owner }: &NameReservation| {
            let Some(user) = (0..self.users.len()).find(|user| user_id(*user) == *owner) else {
                return false;
            };
            let has = self.users[user].name.as_ref().map(|name| name.to_lowercase());
            let asked = self.wanted.get(name).is_some_and(|users| users.contains(&user));
            if !asked || has.as_ref() == Some(name) || kills[user] == 0 {
                return false;
            }
            kills[user] -= 1;
            true
        };
        let unexplained = left.iter().filter(|reservation| !is_explained(reservation));
        let sentence = |NameReservation { name, owner }: &NameReservation| {
            format!(
                "{name:?} is reserved for {owner}, which does not use it; no kill explains that"
            )
        };
        unexplained.map(sentence).collect()
    }
}

/// Returns the findings of the audit that no killed handler explains. The audit may find reservations
/// of names only.
pub(super) async fn unexplained(
    blog: &Blog,
    database: &DatabaseClient,
    findings: &[Value],
) -> anyhow::Result<Vec<String>> {
    let owners = owners(database).await?;
    let mut left = Vec::new();
    let mut unexplained = Vec::new();
    for finding in findings {
        let partition = finding["partitionKey"].as_str().unwrap_or_default();
        match owners.get(partition).filter(|_| finding["kind"] == "reservation-leaked") {
            Some(reservation) => left.push(reservation.clone()),
            None => unexplained.push(format!("audit: {finding}")),
        }
    }
    unexplained.extend(blog.unexplained_reservations(&left));
    Ok(unexplained)
}

/// Returns the reservations of names, by their logical partitions.
async fn owners(database: &DatabaseClient) -> anyhow::Result<HashMap<String, NameReservation>> {
    let query = "SELECT * FROM c WHERE c.type = 'username'";
    let reservations = items(database, "users", query).await?;
    let text = |item: &Value, field: &str| item[field].as_str().unwrap_or_default().to_owned();
    let reservation = |item: &Value| {
        let partition = text(item, "userId");
        let name = partition.strip_prefix("username:").unwrap_or_default().to_owned();
        (partition, NameReservation { name, owner: text(item, "owner") })
    };
    Ok(reservations.iter().map(reservation).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        Reply, Workload as _,
        blog::{BlogOperation, BlogSize},
    };

    fn reservation(name: &str, owner: &str) -> NameReservation {
        NameReservation { name: name.into(), owner: owner.into() }
    }

    /// Returns a model in which user 0 had the names in turn, the last after `kills` kills.
    fn model(names: &[&str], kills: usize) -> Blog {
        let size = BlogSize { clients: 1, users: 2, posts: 1, reuse_ids: true };
        let mut model = Blog::new(size, std::time::Duration::ZERO);
        for (n, name) in names.iter().enumerate() {
            let operation = BlogOperation::PutUser { user: 0, name: (*name).to_owned() };
            let start = model.begin(&operation);
            let status = if n == 0 { 201 } else { 200 };
            let reply = Reply { status, body: json!({"username": name}), retry_after: None };
            assert!(model.finish(0, &operation, &start, &reply, false));
            model.was_killed(&operation, if n + 1 == names.len() { kills } else { 0 });
        }
        model
    }

    #[test]
    fn a_kill_explains_one_name_that_its_user_asked_for_and_does_not_have() {
        let old = reservation("ann", "u0");
        assert_eq!(
            model(&["Ann", "Annie"], 1).unexplained_reservations(std::slice::from_ref(&old)),
            [""; 0]
        );
        for (kills, left) in [
            (0, vec![old.clone()]),
            (1, vec![old.clone(), reservation("ann", "u0")]),
            (1, vec![reservation("annie", "u0")]),
            (1, vec![reservation("zoe", "u0")]),
            (1, vec![reservation("ann", "u1")]),
            (1, vec![reservation("ann", "somebody")]),
        ] {
            assert_eq!(
                model(&["Ann", "Annie"], kills).unexplained_reservations(&left).len(),
                1,
                "{left:?}"
            );
        }
    }
}
