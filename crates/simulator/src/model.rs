//! What was acknowledged, and which answers are right.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use serde_json::Value;
use tributary_local::chaos::Random;

use crate::{
    Operation, Reply, World,
    operation::user_id,
    recent::{self, Recent},
};

/// The reference model of the blog.
#[derive(Debug)]
pub struct Model {
    world: World,
    /// How far a read may be behind.
    behind: Duration,
    /// Counts beginnings and ends of operations.
    clock: u64,
    pub(crate) users: Vec<User>,
    pub(crate) posts: Vec<Post>,
    pub(crate) comments: Vec<Comment>,
    comments_of: Vec<Vec<usize>>,
    pub(crate) likes: HashMap<(usize, usize), Reaction>,
    /// Who ever wanted a name: a name that nobody else wanted is free.
    pub(crate) wanted: HashMap<String, HashSet<usize>>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct User {
    pub(crate) name: Option<String>,
    former: Recent<Option<String>>,
    /// When the last change of the name began, and whether it is still under way.
    changed: u64,
    changing: bool,
    /// How often a handler was killed that was about to change the name.
    pub(crate) killed: usize,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Post {
    pub(crate) text: Option<Text>,
    former: Recent<Option<Text>>,
    /// How often it was created or deleted, begun and done; and only deleted.
    turns: Turns,
    deletes: Turns,
    delete_began: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Turns {
    begun: u64,
    done: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) author: usize,
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) creation_date: Value,
}

#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub(crate) post: usize,
    pub(crate) user: usize,
    pub(crate) content: String,
    /// The id once it was acknowledged, and that of the post that it was made for.
    pub(crate) id: Option<String>,
    post_id: String,
    pub(crate) reaction: Reaction,
}

/// What is known of a comment or like, and when it was found out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reaction {
    pub(crate) presence: Presence,
    known: u64,
    at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Presence {
    #[default]
    Absent,
    Present,
    /// Its command met the deletion of the post.
    Unknown,
}

/// What an operation found when it began.
#[derive(Debug)]
pub struct Begun {
    clock: u64,
    /// The oldest state that a read may see.
    oldest: Instant,
    turns: Turns,
    deletes: Turns,
    post_id: String,
    /// The other user that had the wanted name, and was not about to change it.
    holder: Option<usize>,
}

impl Comment {
    pub(crate) fn path(&self) -> String {
        let id = self.id.as_deref().unwrap_or("never-acknowledged");
        format!("/api/posts/{}/comments/{id}", self.post_id)
    }
}

impl Model {
    /// An empty blog, whose reads may be so far behind.
    pub fn new(world: World, behind: Duration) -> Self {
        Self {
            world,
            behind,
            clock: 0,
            users: vec![User::default(); world.clients * world.users],
            posts: vec![Post::default(); world.clients * world.posts],
            comments: Vec::new(),
            comments_of: vec![Vec::new(); world.clients],
            likes: HashMap::new(),
            wanted: HashMap::new(),
        }
    }

    /// The id of a post.
    pub(crate) fn post_id(&self, post: usize) -> String {
        let deleted = if self.world.reuse_ids { 0 } else { self.posts[post].deletes.done };
        format!("p{post}-{deleted}")
    }

    pub(crate) fn post_path(&self, post: usize) -> String {
        format!("/api/posts/{}", self.post_id(post))
    }

    pub(crate) fn like_path(&self, post: usize, user: usize) -> String {
        format!("{}/likes/{}", self.post_path(post), user_id(user))
    }

    pub(crate) fn author(&self, post: usize) -> Option<usize> {
        self.posts[post].text.as_ref().map(|text| text.author)
    }

    pub(crate) fn comment(&self, comment: usize) -> &Comment {
        &self.comments[comment]
    }

    pub(crate) fn new_comment(&mut self, post: usize, user: usize, content: String) -> usize {
        let (reaction, post_id) = (Reaction::default(), self.post_id(post));
        self.comments.push(Comment { post, user, content, id: None, post_id, reaction });
        self.comments.len() - 1
    }

    pub(crate) fn own_comment(&self, client: usize, random: &mut Random) -> Option<usize> {
        let own = &self.comments_of[client];
        own.get(random.index(own.len())).copied()
    }

    /// Notes that an operation begins.
    pub fn begin(&mut self, operation: &Operation) -> Begun {
        self.clock += 1;
        let mut begun = Begun {
            clock: self.clock,
            oldest: recent::oldest(Instant::now(), self.behind),
            turns: Turns::default(),
            deletes: Turns::default(),
            post_id: String::new(),
            holder: None,
        };
        match operation {
            Operation::PutUser { user, name } => {
                let key = name.to_lowercase();
                begun.holder = self.holder(&key, *user);
                self.wanted.entry(key).or_default().insert(*user);
                let user = &mut self.users[*user];
                (user.changed, user.changing) = (self.clock, true);
            }
            Operation::PutPost { post, .. } => {
                let post = &mut self.posts[*post];
                post.turns.begun += u64::from(post.text.is_none());
            }
            Operation::DeletePost { post } => {
                let post = &mut self.posts[*post];
                post.turns.begun += 1;
                post.deletes.begun += 1;
                post.delete_began = self.clock;
            }
            _ => {}
        }
        if let Some(post) = self.post_of(operation) {
            (begun.turns, begun.deletes) = (self.posts[post].turns, self.posts[post].deletes);
            begun.post_id = self.post_id(post);
        }
        begun
    }

    /// Notes how often a handler was killed with the operation under way.
    pub fn was_killed(&mut self, operation: &Operation, times: usize) {
        if let Operation::PutUser { user, .. } = operation {
            self.users[*user].killed += times;
        }
    }

    /// Notes the answer that an operation ended with; an error when it is not right. `repeated`
    /// tells that the operation was sent before without a known outcome.
    pub fn finish(
        &mut self,
        client: usize,
        operation: &Operation,
        begun: &Begun,
        reply: &Reply,
        repeated: bool,
    ) -> Result<(), String> {
        self.clock += 1;
        let right = match operation {
            Operation::PutUser { user, name } => self.user_put(*user, name, begun, reply, repeated),
            Operation::PutPost { post, author, title, content } => {
                let text = Text {
                    author: *author,
                    title: title.clone(),
                    content: content.clone(),
                    creation_date: reply.body["creationDate"].clone(),
                };
                self.post_put(*post, text, reply, repeated)
            }
            Operation::DeletePost { post } => self.post_deleted(*post, reply, repeated),
            Operation::PutComment { comment } => self.comment_put(client, *comment, begun, reply),
            Operation::Like { post, user } => self.liked(*post, *user, begun, reply, repeated),
            Operation::DeleteComment { .. }
            | Operation::Unlike { .. }
            | Operation::GetComment { .. }
            | Operation::GetLike { .. } => self.reaction_asked(operation, begun, reply, repeated),
            Operation::GetUser { user } => {
                let User { name, former, .. } = &self.users[*user];
                let shown = |name: &Option<String>| match name {
                    Some(name) => reply.status == 200 && reply.body["username"] == **name,
                    None => reply.status == 404,
                };
                // What is not found is confirmed.
                let mut former = former.since(begun.oldest).filter(|name| name.is_some());
                shown(name) || former.any(shown)
            }
            Operation::GetPost { post } => {
                let Post { text, former, .. } = &self.posts[*post];
                let shown = |text: &Option<Text>| match text {
                    Some(text) => {
                        reply.status == 200
                            && reply.body["title"] == *text.title
                            && reply.body["content"] == *text.content
                    }
                    None => reply.status == 404,
                };
                let mut former = former.since(begun.oldest).filter(|text| text.is_some());
                shown(text) || former.any(shown)
            }
        };
        if right {
            return Ok(());
        }
        let mut known = self.known(operation);
        known.truncate(known.floor_char_boundary(1_000));
        let Reply { status, body, .. } = reply;
        Err(format!(
            "{operation:?} (sent again: {repeated}) was answered {status} {body}; known: {known}"
        ))
    }

    fn user_put(
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

    fn post_put(&mut self, number: usize, text: Text, reply: &Reply, repeated: bool) -> bool {
        let author_exists = self.users[text.author].name.is_some();
        let post = &mut self.posts[number];
        let shown = reply.body["title"] == text.title && reply.body["content"] == text.content;
        match &post.text {
            Some(before) if before.author != text.author => reply.status == 409,
            Some(before) => {
                let same_date = before.creation_date == text.creation_date;
                post.former.push(post.text.replace(text));
                reply.status == 200 && shown && same_date
            }
            None => {
                post.turns.done += 1;
                if !author_exists {
                    return reply.status == 404;
                }
                post.former.push(post.text.replace(text));
                shown && (reply.status == 201 || (repeated && reply.status == 200))
            }
        }
    }

    fn post_deleted(&mut self, number: usize, reply: &Reply, repeated: bool) -> bool {
        let post = &mut self.posts[number];
        post.turns.done += 1;
        post.deletes.done += 1;
        let text = post.text.take();
        let existed = text.is_some();
        post.former.push(text);
        let began = post.delete_began;
        // What was known before it began is gone with the post.
        let comments = self.comments.iter_mut().filter(|comment| comment.post == number);
        let likes = self.likes.iter_mut().filter(|((post, _), _)| *post == number);
        let reactions = comments.map(|comment| &mut comment.reaction);
        for reaction in reactions.chain(likes.map(|(_, like)| like)) {
            if reaction.known < began {
                reaction.presence = Presence::Absent;
                reaction.at = Some(Instant::now());
            }
        }
        match reply.status {
            204 => existed,
            404 => !existed || repeated,
            _ => false,
        }
    }

    fn comment_put(&mut self, client: usize, number: usize, begun: &Begun, reply: &Reply) -> bool {
        let comment = &self.comments[number];
        let allowed = self.creation(comment.post, comment.user, begun);
        let known = self.after_creation(comment.post, begun, reply.status == 201);
        let comment = &mut self.comments[number];
        comment.reaction = known;
        if reply.status != 201 {
            return reply.status == 404 && allowed != Some(true);
        }
        let id = reply.body["id"].as_str().map(str::to_owned);
        let first = comment.id.is_none() || comment.post_id != begun.post_id;
        let same_id = first || comment.id == id;
        if comment.id.is_none() {
            self.comments_of[client].push(number);
        }
        comment.id = id;
        comment.post_id.clone_from(&begun.post_id);
        let shown = reply.body["content"] == comment.content;
        allowed != Some(false) && same_id && comment.id.is_some() && shown
    }

    fn liked(
        &mut self,
        post: usize,
        user: usize,
        begun: &Begun,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        let allowed = self.creation(post, user, begun);
        let done = matches!(reply.status, 200 | 201);
        let mut known = self.after_creation(post, begun, done);
        if !done && allowed.is_none() {
            // The host may have sent it again when the post was there, and kept the first answer.
            known.presence = Presence::Unknown;
        }
        let before = self.likes.insert((post, user), known).unwrap_or_default().presence;
        match reply.status {
            404 => allowed != Some(true),
            201 => allowed != Some(false) && (before != Presence::Present || allowed.is_none()),
            200 => {
                allowed != Some(false)
                    && (before != Presence::Absent || repeated || allowed.is_none())
            }
            _ => false,
        }
    }

    /// A reaction that was deleted or read by the client that it belongs to.
    fn reaction_asked(
        &mut self,
        operation: &Operation,
        begun: &Begun,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        let deletes =
            matches!(operation, Operation::DeleteComment { .. } | Operation::Unlike { .. });
        let clock = self.clock;
        let Some(post) = self.post_of(operation) else { return false };
        let stable = self.is_stable(post, begun);
        let reaction = match operation {
            Operation::DeleteComment { comment } | Operation::GetComment { comment } => {
                &mut self.comments[*comment].reaction
            }
            Operation::Unlike { post, user } | Operation::GetLike { post, user } => {
                self.likes.entry((*post, *user)).or_default()
            }
            _ => return false,
        };
        let before = reaction.presence;
        if deletes {
            let at = Some(Instant::now());
            *reaction = Reaction { presence: Presence::Absent, known: clock, at };
        } else if reply.status == 200 && reaction.at.is_some_and(|at| at > begun.oldest) {
            // It may have been read before it went.
            return true;
        }
        let (there, repeated) = if deletes { (204, repeated) } else { (200, false) };
        match before {
            Presence::Present if stable && !repeated => reply.status == there,
            Presence::Present | Presence::Unknown => reply.status == there || reply.status == 404,
            // It went while this operation was under way; or, when the store's answer to a delete
            // is lost, the blog cannot know that there was nothing.
            Presence::Absent => {
                reply.status == 404 || ((deletes || !stable) && reply.status == there)
            }
        }
    }

    /// Whether a reaction can be created: `None` when its post was created or deleted meanwhile.
    fn creation(&self, post: usize, user: usize, begun: &Begun) -> Option<bool> {
        if self.users[user].name.is_none() {
            return Some(false);
        }
        self.is_stable(post, begun).then(|| self.posts[post].text.is_some())
    }

    fn after_creation(&self, post: usize, begun: &Begun, done: bool) -> Reaction {
        let met_a_deletion = self.posts[post].deletes.begun > begun.deletes.done;
        let presence = match (done, met_a_deletion) {
            (false, _) => Presence::Absent,
            (true, false) => Presence::Present,
            (true, true) => Presence::Unknown,
        };
        Reaction { presence, known: self.clock, at: Some(Instant::now()) }
    }

    /// Whether the post was neither created nor deleted since the operation began.
    fn is_stable(&self, post: usize, begun: &Begun) -> bool {
        let Turns { begun: started, done } = begun.turns;
        started == done && self.posts[post].turns.begun == started
    }

    /// The other user that has a name and is not about to change it.
    fn holder(&self, key: &str, except: usize) -> Option<usize> {
        let has = |user: &User| {
            !user.changing && user.name.as_ref().is_some_and(|name| name.to_lowercase() == key)
        };
        let mut users = self.users.iter().enumerate();
        users.find(|(number, user)| *number != except && has(user)).map(|(number, _)| number)
    }

    fn post_of(&self, operation: &Operation) -> Option<usize> {
        match operation {
            Operation::PutUser { .. } | Operation::GetUser { .. } => None,
            Operation::PutPost { post, .. }
            | Operation::DeletePost { post }
            | Operation::GetPost { post }
            | Operation::Like { post, .. }
            | Operation::Unlike { post, .. }
            | Operation::GetLike { post, .. } => Some(*post),
            Operation::PutComment { comment }
            | Operation::DeleteComment { comment }
            | Operation::GetComment { comment } => Some(self.comments[*comment].post),
        }
    }

    /// What is known of what an operation is about, for a person to read.
    fn known(&self, operation: &Operation) -> String {
        match operation {
            Operation::PutUser { user, .. } | Operation::GetUser { user } => {
                format!("{} {:?}", user_id(*user), self.users[*user])
            }
            Operation::PutComment { comment }
            | Operation::DeleteComment { comment }
            | Operation::GetComment { comment } => {
                let comment = &self.comments[*comment];
                format!("{comment:?} {:?}", self.posts[comment.post])
            }
            Operation::Like { post, user }
            | Operation::Unlike { post, user }
            | Operation::GetLike { post, user } => {
                format!("{:?} {:?}", self.likes.get(&(*post, *user)), self.posts[*post])
            }
            Operation::PutPost { post, .. }
            | Operation::DeletePost { post }
            | Operation::GetPost { post } => format!("{:?}", self.posts[*post]),
        }
    }
}
