//! Names that are reserved for a user that does not have them.

use azure_data_cosmos::DatabaseClient;
use serde_json::Value;

use super::{Blog, user_id};
use crate::{api::text, copies::SOURCE, run::items};

impl Blog {
    /// Returns the leaked reservations of names that no killed handler explains, a sentence each: of
    /// the names in lower case and the ids of their users.
    ///
    /// A handler that is killed while it renames a user leaves one reservation at most: of the new name
    /// if it stopped before the rename, or of the old one. So the user once asked for the name and does
    /// not have it, and no user has left more reservations than there were kills.
    fn unexplained_reservations(&self, left: &[(String, String)]) -> Vec<String> {
        let mut kills: Vec<usize> = self.users.iter().map(|user| user.kills).collect();
        let mut is_explained = |name: &str, owner: &str| {
            let Some(user) = (0..self.users.len()).find(|user| user_id(*user) == owner) else {
                return owner == SOURCE;
            };
            let has = self.name(user).is_some_and(|has| has.to_lowercase() == name);
            let asked = self.wanted.get(name).is_some_and(|users| users.contains(&user));
            if !asked || has || kills[user] == 0 {
                return false;
            }
            kills[user] -= 1;
            true
        };
        let unexplained = left.iter().filter(|(name, owner)| !is_explained(name, owner));
        unexplained
            .map(|(name, owner)| {
                format!(
                    "{name:?} is reserved for {owner}, which does not use it; no kill explains that"
                )
            })
            .collect()
    }
}

/// Returns the findings of the audit that no killed handler explains. The audit may find reservations
/// of names only.
pub(super) async fn unexplained(
    blog: &Blog,
    database: &DatabaseClient,
    findings: &[Value],
) -> anyhow::Result<Vec<String>> {
    let query = "SELECT * FROM c WHERE c.type = 'username'";
    let reservations = items(database, "users", query).await?;
    let mut left = Vec::new();
    let mut unexplained = Vec::new();
    for finding in findings {
        let partition = text(finding, "partitionKey");
        let reservation = reservations.iter().find(|item| item["userId"] == partition);
        match (reservation, partition.strip_prefix("username:")) {
            (Some(item), Some(name)) if finding["kind"] == "reservation-leaked" => {
                left.push((name.to_owned(), text(item, "owner").to_owned()));
            }
            _ => unexplained.push(format!("audit: {finding}")),
        }
    }
    unexplained.extend(blog.unexplained_reservations(&left));
    Ok(unexplained)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::Reply;

    #[test]
    fn a_kill_explains_one_name_that_its_user_asked_for_and_does_not_have() {
        // User 0 was Ann and then Annie, after so many kills.
        for (kills, left, unexplained) in [
            (1, &[("ann", "u0")][..], 0),
            (0, &[("ann", "u0")], 1),
            (1, &[("ann", "u0"), ("ann", "u0")], 1),
            (1, &[("annie", "u0")], 1),
            (1, &[("zoe", "u0")], 1),
            (1, &[("ann", "u1")], 1),
            (1, &[("ann", "somebody")], 1),
        ] {
            let mut blog = Blog::new(0);
            for (name, status, kills) in [("Ann", 201, 0), ("Annie", 200, kills)] {
                let operation = blog.put_user(0, name.to_owned());
                let body = json!({ "username": name });
                let reply = Reply { kills, ..Reply::new(status, body) };
                assert!((operation.finish)(&mut blog, &reply).is_ok());
            }
            let left: Vec<_> =
                left.iter().map(|(name, owner)| (name.to_string(), owner.to_string())).collect();
            assert_eq!(blog.unexplained_reservations(&left).len(), unexplained, "{left:?}");
        }
    }
}
