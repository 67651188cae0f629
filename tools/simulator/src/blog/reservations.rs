//! Names that are reserved for a user that does not have them.

use azure_data_cosmos::DatabaseClient;
use serde_json::Value;

use super::{Blog, user_id};
use crate::{api::text, copies::SOURCE, run::items};

impl Blog {
    /// Returns the findings of the audit that no killed handler explains.
    pub(super) async fn unexplained_findings(
        &self,
        database: &DatabaseClient,
        findings: &[Value],
    ) -> anyhow::Result<Vec<String>> {
        let query = "SELECT * FROM c WHERE c.type = 'username'";
        Ok(self.unexplained_among(findings, &items(database, "users", query).await?))
    }

    /// A handler that is killed while it renames a user leaves one reservation at most: of the new name
    /// if it stopped before the rename, or of the old one. So the user once asked for the name and does
    /// not have it, and no user has left more reservations than there were kills.
    fn unexplained_among(&self, findings: &[Value], reservations: &[Value]) -> Vec<String> {
        let mut kills: Vec<usize> = self.users.iter().map(|user| user.kills).collect();
        let mut is_explained = |finding: &Value| {
            let partition = text(finding, "partitionKey");
            let name = partition.strip_prefix("username:")?;
            let reservation = reservations.iter().find(|item| item["userId"] == partition)?;
            let owner = text(reservation, "owner");
            let Some(user) = (0..self.users.len()).find(|user| user_id(*user) == owner) else {
                return Some(owner == SOURCE);
            };
            let has = self.name(user).is_some_and(|has| has.to_lowercase() == name);
            let asked = self.wanted.get(name).is_some_and(|users| users.contains(&user));
            let is_explained = asked && !has && kills[user] > 0;
            kills[user] -= usize::from(is_explained);
            Some(is_explained)
        };
        let unexplained = findings.iter().filter(|finding| {
            finding["kind"] != "reservation-leaked" || is_explained(finding) != Some(true)
        });
        unexplained.map(|finding| format!("audit, which no kill explains: {finding}")).collect()
    }
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
            let json = |(name, owner): &(&str, &str)| {
                let key = format!("username:{name}");
                let finding = json!({ "kind": "reservation-leaked", "partitionKey": key });
                (finding, json!({ "userId": key, "owner": owner }))
            };
            let (findings, reservations): (Vec<_>, Vec<_>) = left.iter().map(json).unzip();
            let found = blog.unexplained_among(&findings, &reservations);
            assert_eq!(found.len(), unexplained, "{left:?}");
        }
    }
}
