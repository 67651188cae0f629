//! Users and posts.

use std::time::Instant;

use serde_json::{Value, json};
use tributary_local::{chaos::Random, client::Call};

use super::{Blog, PostText, Reaction, Turns, User, post_path, user_id, user_path};
use crate::{
    api::Reply,
    workload::{Operation, verdict},
};

const N_NAMES: usize = 120;

impl Blog {
    pub(super) fn put_user(&mut self, user: usize, name: String) -> Operation<Self> {
        let key = name.to_lowercase();
        let holder = self.holder(&key, user);
        self.wanted.entry(key.clone()).or_default().insert(user);
        self.users[user].turns.0 += 1;
        let call = Call::put(user_path(user), json!({ "username": name }));
        Operation::new(call, move |blog: &mut Self, reply| {
            let state = &mut blog.users[user];
            state.turns.0 += 1;
            // Another user had the name all the time.
            let is_taken = holder.is_some() && blog.holder(&key, user) == holder;
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

    fn holder(&self, key: &str, except: usize) -> Option<(usize, Turns)> {
        let has = |user: &User| {
            let name = user.name.now().filter(|_| !user.turns.is_under_way());
            name.is_some_and(|name| name.to_lowercase() == key)
        };
        let mut users = self.users.iter().enumerate();
        let holder = users.find(|(number, user)| *number != except && has(user));
        holder.map(|(number, user)| (number, user.turns))
    }

    pub(super) fn get_user(user: usize) -> Operation<Self> {
        let is_name = |name: &String, body: &Value| body["username"] == **name;
        Operation::read(user_path(user), move |blog: &Self| &blog.users[user].name, is_name)
    }

    pub(super) fn put_post(&mut self, post: usize, author: usize, number: u64) -> Operation<Self> {
        let state = &mut self.posts[post];
        state.turns.0 += u64::from(state.text.now().is_none());
        let (title, content) = (title(number), content(number));
        let body = json!({"userId": user_id(author), "title": title, "content": content});
        Operation::new(Call::put(post_path(post), body), move |blog: &mut Self, reply| {
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
                state.turns.0 += 1;
                if !author_exists {
                    return reply.status == 404;
                }
                state.text.was_put(text, reply) && is_shown
            }
        }
    }

    pub(super) fn delete_post(&mut self, post: usize) -> Operation<Self> {
        let began = Instant::now();
        self.posts[post].turns.0 += 1;
        Operation::new(Call::delete(post_path(post)), move |blog: &mut Self, reply| {
            let state = &mut blog.posts[post];
            state.turns.0 += 1;
            let is_right = state.text.was_deleted(reply);
            // A reaction that is older than the deletion is gone.
            let reactions = blog.reactions.iter_mut().filter(|reaction| reaction.post == post);
            reactions.filter(|it| it.at < Some(began)).for_each(Reaction::is_gone);
            verdict(is_right, state)
        })
    }

    pub(super) fn get_post(post: usize) -> Operation<Self> {
        let path = post_path(post);
        Operation::read(path, move |blog: &Self| &blog.posts[post].text, PostText::is_shown)
    }
}

impl PostText {
    fn is_shown(&self, shown: &Value) -> bool {
        shown["title"] == *self.title && shown["content"] == *self.content
    }
}

/// Returns a name in one of three spellings, of which only one may be reserved at a time.
pub(super) fn name(random: &mut Random) -> String {
    let name = format!("Name {}", random.index(N_NAMES));
    match random.below(3) {
        0 => name.to_uppercase(),
        1 => name.to_lowercase(),
        _ => name,
    }
}

fn title(number: u64) -> String {
    format!("Title {number}")
}

/// Returns a content, which for some numbers is longer than a summary.
fn content(number: u64) -> String {
    let times = usize::try_from(number % 50).unwrap_or(0) + 1;
    format!("{number} ").repeat(times).trim_end().to_owned()
}

pub(super) fn comment(number: u64) -> String {
    format!("Comment {number}")
}
