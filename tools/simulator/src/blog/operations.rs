//! Users and posts.

use serde_json::{Value, json};
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use super::{Blog, Post, PostText, Reaction, Turns, User, post_path, user_id, user_path};
use crate::{
    api::{Reply, delete, put},
    versions::oldest,
    workload::{Operation, verdict},
};

/// The number of names that all users compete for: fewer would only cause conflicts.
const N_NAMES: usize = 120;

impl Blog {
    pub(super) fn put_user(&mut self, user: usize, name: String) -> Operation<Self> {
        let began = self.tick();
        let key = name.to_lowercase();
        let holder = self.holder(&key, user);
        self.wanted.entry(key.clone()).or_default().insert(user);
        let state = &mut self.users[user];
        (state.changed, state.changing) = (began, true);
        let call = put(user_path(user), json!({ "username": name }));
        Self::operation(call, move |blog, reply| {
            let state = &mut blog.users[user];
            state.changing = false;
            state.kills += reply.kills;
            // Another user had the name all the time.
            let is_taken = holder.is_some_and(|holder| {
                blog.users[holder].changed < began && blog.holder(&key, user) == Some(holder)
            });
            let is_right = match reply.status {
                409 => is_taken || blog.wanted[&key].len() > 1,
                200 | 201 => {
                    let shown = reply.body["username"] == *name;
                    blog.users[user].name.was_put(name, reply) && !is_taken && shown
                }
                _ => false,
            };
            verdict(is_right, &blog.users[user])
        })
    }

    fn holder(&self, key: &str, except: usize) -> Option<usize> {
        let has = |user: &User| {
            !user.changing && user.name.now().is_some_and(|name| name.to_lowercase() == key)
        };
        (0..self.users.len()).find(|user| *user != except && has(&self.users[*user]))
    }

    pub(super) fn get_user(&mut self, user: usize) -> Operation<Self> {
        let oldest = oldest(self.max_lag);
        Self::operation(Call::get(user_path(user)), move |blog, reply| {
            let state = &blog.users[user].name;
            let is_name = |name: &String| reply.body["username"] == **name;
            verdict(state.is_shown(oldest, reply, is_name), state)
        })
    }

    pub(super) fn put_post(&mut self, post: usize, author: usize, number: u64) -> Operation<Self> {
        let state = &mut self.posts[post];
        state.turns.begun += u64::from(state.text.now().is_none());
        let (title, content) = (title(number), content(number));
        let body = json!({"userId": user_id(author), "title": title, "content": content});
        Self::operation(put(post_path(post), body), move |blog, reply| {
            let creation_date = reply.body["creationDate"].clone();
            let text = PostText { author, title, content, creation_date };
            verdict(blog.post_was_put(post, text, reply), &blog.posts[post])
        })
    }

    fn post_was_put(&mut self, post: usize, text: PostText, reply: &Reply) -> bool {
        let author_exists = self.name(text.author).is_some();
        let state = &mut self.posts[post];
        let is_shown = text.is_shown(&reply.body);
        match state.text.now() {
            Some(before) if before.author != text.author => reply.status == 409,
            Some(before) => {
                let same_date = before.creation_date == text.creation_date;
                state.text.replace(Some(text));
                reply.status == 200 && is_shown && same_date
            }
            None => {
                state.turns.done += 1;
                if !author_exists {
                    return reply.status == 404;
                }
                state.text.was_put(text, reply) && is_shown
            }
        }
    }

    pub(super) fn delete_post(&mut self, post: usize) -> Operation<Self> {
        let began = self.tick();
        let Post { turns, deletes, delete_began, .. } = &mut self.posts[post];
        for turns in [turns, deletes] {
            turns.begun += 1;
        }
        *delete_began = began;
        Self::operation(delete(post_path(post)), move |blog, reply| {
            let Post { text, turns, deletes, delete_began } = &mut blog.posts[post];
            for Turns { done, .. } in [turns, deletes] {
                *done += 1;
            }
            let is_right = text.was_deleted(reply);
            // A reaction that is older than the deletion is gone.
            let reactions = blog.reactions.iter_mut().filter(|reaction| reaction.post == post);
            reactions.filter(|it| it.known < *delete_began).for_each(Reaction::is_gone);
            verdict(is_right, &blog.posts[post])
        })
    }

    pub(super) fn get_post(&mut self, post: usize) -> Operation<Self> {
        let oldest = oldest(self.max_lag);
        Self::operation(Call::get(post_path(post)), move |blog, reply| {
            let text = &blog.posts[post].text;
            verdict(text.is_shown(oldest, reply, |text| text.is_shown(&reply.body)), text)
        })
    }
}

impl PostText {
    fn is_shown(&self, shown: &Value) -> bool {
        shown["title"] == *self.title && shown["content"] == *self.content
    }
}

/// Texts that a Functions host which parses dates rewrites, and two that stop its trigger.
const DATES: [&str; 8] = [
    "2026-11-21T09:25:54.120Z",
    "2026-11-21T09:25:54.000Z",
    "2026-01-02T24:00:00Z",
    "2026-01-02T03:04:05+02:00",
    "/Date(0)/",
    "/Date(1700000000000+0100)/",
    "/Date(500000000000000)/",
    "9999-12-31T24:00:00Z",
];

/// Returns a text that looks like a date for one number in ten.
fn date(number: u64) -> Option<String> {
    let n = usize::try_from(number / 10).unwrap_or(0) % DATES.len();
    number.is_multiple_of(10).then(|| DATES[n].to_owned())
}

/// Returns a name in one of three spellings, of which only one may be reserved at a time.
pub(super) fn name(random: &mut Random) -> String {
    let number = random.index(N_NAMES);
    let name = date(number as u64).unwrap_or_else(|| format!("Name {number}"));
    match random.below(3) {
        0 => name.to_uppercase(),
        1 => name.to_lowercase(),
        _ => name,
    }
}

pub(super) fn title(number: u64) -> String {
    date(number).unwrap_or_else(|| format!("Title {number}"))
}

/// Returns a content, which for some numbers is longer than a summary.
pub(super) fn content(number: u64) -> String {
    let times = usize::try_from(number % 50).unwrap_or(0) + 1;
    // The offset keeps these apart from the numbers of titles that look like dates.
    date(number + 5).unwrap_or_else(|| format!("{number} ").repeat(times).trim_end().to_owned())
}

pub(super) fn comment(number: u64) -> String {
    date(number).unwrap_or_else(|| format!("Comment {number}"))
}
