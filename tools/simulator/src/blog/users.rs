//! Users: who has which name.

use super::{Begun, Blog};
use crate::{Recent, Reply};

#[derive(Debug, Clone, Default)]
pub(super) struct User {
    pub(super) name: Option<String>,
    pub(super) former: Recent<Option<String>>,
    /// When the last change of the name began, and whether it is still under way.
    pub(super) changed: u64,
    pub(super) changing: bool,
    /// How often a handler was killed that was about to change the name.
    pub(super) killed: usize,
}

impl Blog {
    pub(super) fn user_put(
        &mut self,
        user: usize,
        name: &str,
        begun: &Begun,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        self.users[user].changing = false;
        let key = name.to_lowercase();
        // Somebody had the name all the time.
        let taken = begun.holder.is_some_and(|holder| {
            self.users[holder].changed < begun.clock && self.holder(&key, user) == Some(holder)
        });
        let new = self.users[user].name.is_none();
        match reply.status {
            409 => taken || self.wanted[&key].len() > 1,
            200 | 201 => {
                let User { name: current, former, .. } = &mut self.users[user];
                former.push(current.replace(name.to_owned()));
                let created = reply.status == 201;
                !taken && (created == new || (new && repeated)) && reply.body["username"] == name
            }
            _ => false,
        }
    }

    /// Returns true if the answer shows the user as it is, or as it was not long ago. What is not
    /// found is confirmed, so a user that exists is found.
    pub(super) fn user_shown(&self, user: usize, begun: &Begun, reply: &Reply) -> bool {
        let User { name, former, .. } = &self.users[user];
        let shown = |name: &Option<String>| match name {
            Some(name) => reply.status == 200 && reply.body["username"] == **name,
            None => reply.status == 404,
        };
        let mut former = former.since(begun.oldest).filter(|name| name.is_some());
        shown(name) || former.any(shown)
    }

    /// The other user that has a name and is not about to change it.
    pub(super) fn holder(&self, key: &str, except: usize) -> Option<usize> {
        let has = |user: &User| {
            !user.changing && user.name.as_ref().is_some_and(|name| name.to_lowercase() == key)
        };
        let mut users = self.users.iter().enumerate();
        users.find(|(number, user)| *number != except && has(user)).map(|(number, _)| number)
    }
}
