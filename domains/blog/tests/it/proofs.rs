//! The shapes under the proof, on the posts of the blog.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;
use tributary_blog::{
    Blog,
    model::{
        Author, Comment, CommentContent, CommentId, Like, Post, PostContent, PostId, PostText,
        PostsItem, Title, User, UserId, Username, UsersItem,
    },
    projections::{NewestPosts, PostCopies, PostsIntegrity, Usernames, UsernamesInPosts},
};
use tributary_functions::{
    cosmos::Cosmos,
    projection::{AnyProjection, Background, window::Window},
    values::Timestamp,
};
use tributary_testing::proof::{self, Sources, Targets};

use crate::world::TestApp;

/// The feed with room for two posts: most histories fill it, and delete one of its members.
struct TwoNewestPosts;

impl Window for TwoNewestPosts {
    const FUNCTION: &'static str = "TwoNewestPosts";
    const CAPACITY: u32 = 2;
    const PARTITION: &'static str = "two posts";
    const TYPE: &'static str = NewestPosts::TYPE;
    type Change = PostsItem;
    type Source = Post;
    type Copy = <NewestPosts as Window>::Copy;

    fn source(change: &PostsItem) -> Option<&Post> {
        NewestPosts::source(change)
    }

    fn creation_date(post: &Post) -> Timestamp {
        NewestPosts::creation_date(post)
    }

    fn copy(post: &Post) -> Self::Copy {
        NewestPosts::copy(post)
    }

    fn may_be_rewritten(change: &PostsItem) -> bool {
        NewestPosts::may_be_rewritten(change)
    }
}

fn text(user_id: UserId) -> PostText {
    let title = Title::parse("T".into()).unwrap();
    PostText { user_id, title, content: PostContent::parse("C".into()).unwrap() }
}

/// Posts, as the commands of the blog write them.
#[derive(Default)]
struct Posts(HashMap<u8, PostsItem>);

impl Sources for Posts {
    type App = TestApp;

    const CONTAINER: &'static str = "posts";
    const PARTITION_KEY: &'static str = "postId";

    fn write(&mut self, source: u8, owner: u8) -> Value {
        let user_id = UserId::parse(format!("u{owner}")).unwrap();
        let username = Username::parse(format!("User {owner}")).unwrap();
        let author = Author { user_id: user_id.clone(), username, version: 1 };
        let text = text(user_id);
        let id = PostId::parse(format!("p{source}")).unwrap();
        let post = match self.0.get(&source) {
            Some(PostsItem::Post(post)) => post.with_counts(post.public.comment_count + 1, 0),
            Some(PostsItem::DeletedPost(tombstone)) => {
                Post::new(id, &text, &author).over(tombstone).unwrap()
            }
            _ => Post::new(id, &text, &author),
        };
        self.set(source, PostsItem::Post(post))
    }

    fn delete(&mut self, source: u8) -> Option<Value> {
        let Some(PostsItem::Post(post)) = self.0.get(&source) else {
            return None;
        };
        let tombstone = PostsItem::DeletedPost(post.tombstone());
        Some(self.set(source, tombstone))
    }
}

impl Posts {
    fn set(&mut self, source: u8, item: PostsItem) -> Value {
        let state = serde_json::to_value(&item).unwrap();
        self.0.insert(source, item);
        state
    }
}

/// Users, as the commands of the blog rename them.
#[derive(Default)]
struct Users(HashMap<u8, User>);

impl Sources for Users {
    type App = TestApp;

    const CONTAINER: &'static str = "users";
    const PARTITION_KEY: &'static str = "userId";

    fn write(&mut self, source: u8, _owner: u8) -> Value {
        let name = |version| Username::parse(format!("User {source} {version}")).unwrap();
        let id = UserId::parse(format!("u{source}")).unwrap();
        let user = match self.0.get(&source) {
            Some(user) => user.clone().renamed(name(user.version + 1)),
            None => User::new(id, name(1)),
        };
        self.0.insert(source, user.clone());
        serde_json::to_value(UsersItem::User(user)).unwrap()
    }
}

/// Posts, comments and likes, each in the partition of a post of its own, as users write them.
struct Written;

impl Targets for Written {
    type Sources = Users;

    const CONTAINER: &'static str = "posts";
    const PARTITION_KEY: &'static str = "postId";
    const COPIED: &'static [&'static str] = &["userUsername", "usernameVersion"];

    fn create(target: u8, source: &Value, tombstone: Option<&Value>) -> Value {
        let UsersItem::User(user) = serde_json::from_value(source.clone()).unwrap() else {
            panic!("{source}");
        };
        let author = user.author();
        let id = PostId::parse(format!("p{target}")).unwrap();
        let item = match target % 3 {
            0 => PostsItem::Like(Like::new(&id, &author, Timestamp::now())),
            1 => {
                let comment = CommentId::parse(format!("c{target}")).unwrap();
                let content = CommentContent::parse("C".into()).unwrap();
                let now = Timestamp::now();
                PostsItem::Comment(Comment::new(&id, comment, &author, &content, now))
            }
            _ => {
                let post = Post::new(id, &text(user.user_id), &author);
                let tombstone = tombstone.map(|it| serde_json::from_value(it.clone()).unwrap());
                PostsItem::Post(match tombstone {
                    Some(PostsItem::DeletedPost(tombstone)) => post.over(&tombstone).unwrap(),
                    _ => post,
                })
            }
        };
        serde_json::to_value(item).unwrap()
    }

    fn version(target: &Value) -> u64 {
        target["usernameVersion"].as_u64().unwrap()
    }

    fn edit(target: &Value) -> Option<Value> {
        let PostsItem::Post(post) = serde_json::from_value(target.clone()).unwrap() else {
            return None;
        };
        let edited = post.with_counts(post.public.comment_count + 1, 0);
        Some(serde_json::to_value(PostsItem::Post(edited)).unwrap())
    }

    fn tombstone(target: &Value) -> Option<Value> {
        let PostsItem::Post(post) = serde_json::from_value(target.clone()).unwrap() else {
            return None;
        };
        Some(serde_json::to_value(PostsItem::DeletedPost(post.tombstone())).unwrap())
    }
}

fn usernames(cosmos: &Arc<Cosmos>, background: &Background) -> Arc<dyn AnyProjection> {
    let blog = Blog::new(cosmos);
    Arc::new(UsernamesInPosts::new(Usernames(blog.clone()), &blog.users, &blog.posts, background))
}

fn posts_integrity(cosmos: &Arc<Cosmos>, background: &Background) -> Arc<dyn AnyProjection> {
    let blog = Blog::new(cosmos);
    Arc::new(PostsIntegrity::new(blog.clone(), &blog.users, background))
}

#[test]
fn copied_names_end_as_the_users_have_them() {
    proof::fan_out::<Written>(usernames, posts_integrity).unwrap();
}

#[test]
fn a_window_that_is_full_ends_as_its_definition_says() {
    proof::window::<Posts, TwoNewestPosts>("feed").unwrap();
}

#[test]
fn copies_end_as_their_definition_says() {
    proof::copies::<Posts, PostCopies>("users").unwrap();
}
