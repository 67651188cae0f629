//! The blogging platform: requests C1–C4 and Q1–Q6 of the seed article, model V3.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `users` | a user | the user; copies of the user's posts in short form |
//! | `users` | `username:<name>` | the reservation of a username |
//! | `posts` | a post | the post, its comments, its likes |
//! | `feed` | `post` | the 100 newest posts in short form |
//!
//! To add an operation: 1. a file in [`commands`] or [`queries`] with one handler and what it
//! decides; 2. a line in `http_functions`; 3. a story in `tests/it/blog/`;
//! 4. `cargo xtask functions`.

pub mod model;

pub mod commands {
    //! Commands C1–C4 and the deletes: each writes one logical partition, in one transaction.
    //!
    //! A command reads, decides, and writes under a precondition. When it loses a race, or the
    //! response of the store is lost, it starts over ([`tributary_functions::cosmos::retry`]). What it creates has
    //! an id and a creation date that do not change between attempts, so it recognises its own write.
    //! Comments and likes of one post that come at the same time go together
    //! ([`counted_children`](tributary_functions::engines::counted_children)).
    //!
    //! Each takes an [`Actor`](tributary_functions::http::Actor) and says who that must be.

    pub mod create_comment;
    pub mod create_post;
    pub mod create_user;
    pub mod delete_comment;
    pub mod delete_post;
    pub mod like_post;
    pub mod put_post;
    pub mod put_user;
    pub mod unlike_post;

    mod error;
}

pub mod queries {
    //! Queries Q1–Q6: each touches one logical partition, one store request a page.

    pub mod get_comment;
    pub mod get_feed;
    pub mod get_like;
    pub mod get_post;
    pub mod get_user;
    pub mod list_comments;
    pub mod list_likes;
    pub mod list_user_posts;
}

pub mod projections {
    //! What keeps the blog's copies true. See [`tributary_functions::projection`] for how.
    //!
    //! | projection | reads | keeps true |
    //! | --- | --- | --- |
    //! | [`UsernamesInPosts`] | `users` | the name on posts, comments and likes, after a rename |
    //! | [`PostsIntegrity`] | `posts` | the same, for what was created during the rename; and no comment or like outlives its post |
    //! | [`PostCopiesInUsers`] | `posts` | short posts in the partition of their author |
    //! | [`HomeFeed`] | `posts` | the 100 newest short posts in `feed` |
    //!
    //! Names reach the short posts by way of the posts: a renamed post is a change of its own. So the
    //! chain ends: users → posts → copies, and nothing reads the change feed of the copies but to
    //! ignore them.

    mod home_feed;
    mod post_copies_in_users;
    mod posts_integrity;
    mod usernames_in_posts;

    pub use home_feed::{HomeFeed, NewestPosts};
    pub use post_copies_in_users::{PostCopies, PostCopiesInUsers};
    pub use posts_integrity::PostsIntegrity;
    pub use usernames_in_posts::{Usernames, UsernamesInPosts};
}

pub mod audit;

mod leftovers;
mod reactions;
mod stores;
mod usernames;

pub use stores::Blog;

use std::sync::Arc;

use tributary_functions::{
    config::ConfigError,
    domain::{Context, Domain, bind},
    http::{AuthLevel, Footprint, HttpFunction, QueryParameter, delete, get, post, put},
    projection::{copies::CopyProjection, window::WindowProjection},
};

use self::{
    commands::{
        create_comment::create_comment, create_post::create_post, create_user::create_user,
        delete_comment::delete_comment, delete_post::delete_post, like_post::like_post,
        put_post::put_post, put_user::put_user, unlike_post::unlike_post,
    },
    model::sizes,
    projections::{NewestPosts, PostCopies, PostsIntegrity, Usernames, UsernamesInPosts},
    queries::{
        get_comment::get_comment, get_feed::get_feed, get_like::get_like, get_post::get_post,
        get_user::get_user, list_comments::list_comments, list_likes::list_likes,
        list_user_posts::list_user_posts,
    },
};

/// Returns the blog as a domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let blog = Blog::new(context.cosmos);
    Ok(Domain {
        http_functions: bind(http_functions(), &blog),
        projections: vec![
            Arc::new(UsernamesInPosts::new(
                Usernames::new(blog.in_background()),
                context.background,
            )),
            Arc::new(CopyProjection(PostCopies(blog.clone()))),
            Arc::new(WindowProjection(NewestPosts(blog.clone()))),
            Arc::new(PostsIntegrity::new(&blog, context.background)),
        ],
        audit: Some(audit::audit(&blog)),
        containers: vec![blog.users, blog.posts, blog.feed],
        ..Domain::new("blog")
    })
}

const FEED_QUERY: [QueryParameter; 1] =
    [QueryParameter::new("limit", "How many posts: 1 to 100, by default 100.")];

/// The HTTP functions: commands need a function key, queries are for everybody.
#[rustfmt::skip]
fn http_functions() -> Vec<HttpFunction<Blog>> {
    use AuthLevel::{Anonymous, Function};
    let one_post = Footprint::Item(sizes::POST);
    let posts    = Footprint::Page { item: sizes::SHORT_POST, limit: 20 };
    let feed     = Footprint::Page { item: sizes::SHORT_POST, limit: 100 };
    let comments = Footprint::Page { item: sizes::COMMENT, limit: 20 };
    let likes    = Footprint::Page { item: sizes::LIKE, limit: 20 };
    vec![
        // Users: sign up and rename (C1), profile (Q1), posts of an author (Q3).
        post("CreateUser",      "/api/users",                                Function,  create_user),
        put("PutUser",          "/api/users/{userId}",                       Function,  put_user),
        get("GetUser",          "/api/users/{userId}",                       Anonymous, get_user),
        get("ListUserPosts",    "/api/users/{userId}/posts",                 Anonymous, list_user_posts).answers(posts),
        // Posts: write and edit (C2), read (Q2), the front page (Q6).
        post("CreatePost",      "/api/posts",                                Function,  create_post),
        put("PutPost",          "/api/posts/{postId}",                       Function,  put_post),
        get("GetPost",          "/api/posts/{postId}",                       Anonymous, get_post).answers(one_post),
        delete("DeletePost",    "/api/posts/{postId}",                       Function,  delete_post),
        get("GetFeed",          "/api/feed",                                 Anonymous, get_feed).answers(feed).reads(&FEED_QUERY),
        // Comments: write (C3), read (Q4).
        post("CreateComment",   "/api/posts/{postId}/comments",              Function,  create_comment),
        get("ListComments",     "/api/posts/{postId}/comments",              Anonymous, list_comments).answers(comments),
        get("GetComment",       "/api/posts/{postId}/comments/{commentId}",  Anonymous, get_comment).answers(one_post),
        delete("DeleteComment", "/api/posts/{postId}/comments/{commentId}",  Function,  delete_comment),
        // Likes: like (C4), who likes it (Q5).
        put("LikePost",         "/api/posts/{postId}/likes/{userId}",        Function,  like_post),
        get("GetLike",          "/api/posts/{postId}/likes/{userId}",        Anonymous, get_like).answers(one_post),
        delete("UnlikePost",    "/api/posts/{postId}/likes/{userId}",        Function,  unlike_post),
        get("ListLikes",        "/api/posts/{postId}/likes",                 Anonymous, list_likes).answers(likes),
    ]
}
