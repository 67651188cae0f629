//! Users and their names.

use super::{Blog, BlogStart};
use crate::{Recent, Reply};

#[derive(Debug, Clone, Default)]
pub(super) struct UserState {
    pub(super) name: Option<String>,
    pub(super) former: Recent<Option<String>>,
    /// The time at which the last change of the name began, and true while it is under way.
    pub(super) changed: u64,
    pub(super) changing: bool,
    /// The number of kills of handlers that were changing the name.
    pub(super) killed: usize,
}

impl Blog {
    pub(super) fn user_put(
        &mut self,
        user: usize,
        name: &str,
        start: &BlogStart,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        self.users[user].changing = false;
        let key = name.to_lowercase();
        // Another user had the name all the time.
        let taken = start.holder.is_some_and(|holder| {
            self.users[holder].changed < start.clock && self.holder(&key, user) == Some(holder)
        });
        let new = self.users[user].name.is_none();
        match reply.status {
            409 => taken || self.wanted[&key].len() > 1,
            200 | 201 => {
                let UserState { name: current, former, .. } = &mut self.users[user];
                former.push(current.replace(name.to_owned()));
                let created = reply.status == 201;
                !taken && (created == new || (new && repeated)) && reply.body["username"] == name
            }
            _ => false,
        }
    }

    /// Returns true if the answer shows the present state of the user, or a recent one. A 404 is
    /// confirmed by the newest state, so an existing user is found.
    pub(super) fn user_shown(&self, user: usize, start: &BlogStart, reply: &Reply) -> bool {
        let UserState { name, former, .. } = &self.users[user];
        let shown = |name: &Option<String>| match name {
            Some(name) => reply.status == 200 && reply.body["username"] == **name,
            None => reply.status == 404,
        };
        let mut former = former.since(start.oldest).filter(|name| name.is_some());
        shown(name) || former.any(shown)
    }

    /// Returns the other user that has a name and is not changing it.
    pub(super) fn holder(&self, key: &str, except: usize) -> Option<usize> {
        let has = |user: &UserState| {
            !user.changing && user.name.as_ref().is_some_and(|name| name.to_lowercase() == key)
        };
        let mut users = self.users.iter().enumerate();
        users.find(|(number, user)| *number != except && has(user)).map(|(number, _)| number)
    }
}
