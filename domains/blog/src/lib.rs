//! The blogging platform: requests C1–C4 and Q1–Q6 of the seed article, model V3.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `users` | a user | the user; copies of the user's posts in short form |
//! | `users` | `username:<name>` | the reservation of a username |
//! | `posts` | a post | the post, its comments, its likes |
//! | `feed` | `post` | the 100 newest posts in short form |
//!
//! To add an operation: 1. a handler in [`commands`] or [`queries`]; 2. a line in `http_functions`;
//! 3. a story in `tests/it/`; 4. the command `functions` of the app.

#![allow(missing_docs, reason = "a domain is no library: a name may say it all")]

pub mod model;

pub mod commands;
pub mod queries;

pub mod projections;

pub mod audit;

mod reactions;
mod state;
mod usernames;

pub use state::Blog;

use std::sync::Arc;

use tributary_functions::{http::Footprint, prelude::*};

use self::{
    commands::{
        create_comment, create_post, create_user, delete_comment, delete_post, like_post, put_post,
        put_user, unlike_post,
    },
    model::sizes,
    projections::{HomeFeed, PostCopiesInUsers, PostsIntegrity, Usernames, UsernamesInPosts},
    queries::{
        get_comment, get_feed, get_like, get_post, get_user, list_comments, list_likes,
        list_user_posts,
    },
};

pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let mut blog = Blog::new(context.cosmos);
    blog.clock = context.clock;
    let names = Usernames(blog.in_background());
    Ok(Domain {
        http_functions: bind(http_functions(), &blog),
        projections: vec![
            Arc::new(UsernamesInPosts::new(names, &blog.users, &blog.posts, context.background)),
            Arc::new(PostCopiesInUsers::new(&blog.posts, &blog.users)),
            Arc::new(HomeFeed::new(&blog.posts, &blog.feed)),
            Arc::new(PostsIntegrity::new(blog.in_background(), &blog.users, context.background)),
        ],
        // One or two store requests show authors their own posts at once (ADR 17).
        eager: vec![PostCopiesInUsers::FUNCTION],
        audit: Some(audit::audit(&blog)),
        containers: vec![blog.users, blog.posts, blog.feed],
        // A deleted post leaves comments and likes behind. Nearly all have an older version: only a
        // later post with the same id has newer ones. So an index on the version saves nothing.
        unindexed_filters: vec![("posts", "postVersion")],
        ..Domain::new("blog")
    })
}

const FEED_QUERY: [QueryParameter; 1] =
    [QueryParameter::new("limit", "The number of posts: 1 to 100, by default 100.").example("20")];

/// Returns the HTTP functions: a command is for the user that it acts for, queries are public.
#[rustfmt::skip]
fn http_functions() -> Vec<HttpFunction<Blog>> {
    let one_post = Footprint::Item(sizes::POST_BYTES);
    let posts    = Footprint::Page { item: sizes::SHORT_POST_BYTES, limit: 20 };
    let feed     = Footprint::Page { item: sizes::SHORT_POST_BYTES, limit: 100 };
    let comments = Footprint::Page { item: sizes::COMMENT_BYTES, limit: 20 };
    let likes    = Footprint::Page { item: sizes::LIKE_BYTES, limit: 20 };
    // The projections that make the copies in an answer.
    let names = &[UsernamesInPosts::FUNCTION];
    let short = &[UsernamesInPosts::FUNCTION, PostCopiesInUsers::FUNCTION];
    let front = &[UsernamesInPosts::FUNCTION, HomeFeed::FUNCTION];
    vec![
        // Users: sign up and rename (C1), profile (Q1), posts of an author (Q3).
        post("CreateUser",      "/api/users",                               AuthLevel::User,
            create_user),
        put("PutUser",          "/api/users/{userId}",                      Owner,     put_user),
        get("GetUser",          "/api/users/{userId}",                      Anonymous, get_user),
        get("ListUserPosts",    "/api/users/{userId}/posts",                Anonymous,
            list_user_posts).answers(posts).reads_copies_of(short),
        // Posts: write and edit (C2), read (Q2), the front page (Q6).
        post("CreatePost",      "/api/posts",                               Owner,     create_post),
        put("PutPost",          "/api/posts/{postId}",                      Owner,     put_post),
        get("GetPost",          "/api/posts/{postId}",                      Anonymous, get_post)
            .answers(one_post).reads_copies_of(names),
        delete("DeletePost",    "/api/posts/{postId}",                      Owner,     delete_post),
        get("GetFeed",          "/api/feed",                                Anonymous, get_feed)
            .answers(feed).reads(&FEED_QUERY).reads_copies_of(front),
        // Comments: write (C3), read (Q4).
        post("CreateComment",   "/api/posts/{postId}/comments",             Owner, create_comment)
            .without_eager_copies(),
        get("ListComments",     "/api/posts/{postId}/comments",             Anonymous,
            list_comments).answers(comments).reads_copies_of(names),
        get("GetComment",       "/api/posts/{postId}/comments/{commentId}", Anonymous,
            get_comment).answers(one_post).reads_copies_of(names),
        delete("DeleteComment", "/api/posts/{postId}/comments/{commentId}", Owner, delete_comment)
            .without_eager_copies(),
        // Likes: like (C4), the users with a like (Q5).
        put("LikePost",         "/api/posts/{postId}/likes/{userId}",       Owner,     like_post)
            .without_eager_copies(),
        get("GetLike",          "/api/posts/{postId}/likes/{userId}",       Anonymous, get_like)
            .answers(one_post).reads_copies_of(names),
        delete("UnlikePost",    "/api/posts/{postId}/likes/{userId}",       Owner,     unlike_post)
            .without_eager_copies(),
        get("ListLikes",        "/api/posts/{postId}/likes",                Anonymous, list_likes)
            .answers(likes).reads_copies_of(names),
    ]
}
