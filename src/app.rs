//! The whole function app: every route, every trigger. A test holds it against `functions/`.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::FromRef,
    http::Method,
    middleware,
    routing::{MethodRouter, delete, get, post, put},
};
use custom_handler::{CustomHandler, TimerInfo, TraceContext};

use crate::{
    blog::{
        Blog,
        audit::{self, audit_blog},
        commands::{
            create_comment, create_post, create_user, delete_comment, delete_post, like_post,
            put_post, put_user, unlike_post,
        },
        model::sizes,
        projections::{HomeFeed, PostCopiesInUsers, PostsIntegrity, UsernamesInPosts},
        queries::{
            get_comment, get_feed, get_like, get_post, get_user, list_comments, list_likes,
            list_user_posts,
        },
    },
    cosmos::Cosmos,
    dead_letters::{delete_dead_letter, get_dead_letter, list_dead_letters, replay_dead_letter},
    http::{
        Admission, AdmissionOptions, Authentication, Footprint, FunctionNames, admit, answered,
        catch_panics, method_not_allowed, no_such_route,
    },
    projection::{
        Background, BackgroundOptions, DeadLetter, DeadLetters, Projections, RETRY_BUDGET,
    },
    telemetry,
};

/// The HTTP functions: commands and what is for operators need a function key, queries are for
/// everybody.
#[rustfmt::skip]
pub fn http_functions() -> Vec<HttpFunction> {
    use AuthLevel::{Anonymous, Function};
    // How large answers can be. Those of the others are small, or as large as the request's body.
    let one_post = Footprint::Item(sizes::POST);
    let posts    = Footprint::Page { item: sizes::SHORT_POST, limit: 20 };
    let feed     = Footprint::Page { item: sizes::SHORT_POST, limit: 100 };
    let comments = Footprint::Page { item: sizes::COMMENT, limit: 20 };
    let likes    = Footprint::Page { item: sizes::LIKE, limit: 20 };
    let letter   = Footprint::Item(DeadLetter::MAX_RAW);
    let letters  = Footprint::Page { item: DeadLetter::MAX_SUMMARY, limit: 20 };
    vec![
        // Users: sign up and rename (C1), profile (Q1), posts of an author (Q3).
        http("CreateUser",    Method::POST,   "/api/users",                              Function,  post(create_user)),
        http("PutUser",       Method::PUT,    "/api/users/{userId}",                     Function,  put(put_user)),
        http("GetUser",       Method::GET,    "/api/users/{userId}",                     Anonymous, get(get_user)),
        http("ListUserPosts", Method::GET,    "/api/users/{userId}/posts",               Anonymous, get(list_user_posts)).answers(posts),
        // Posts: write and edit (C2), read (Q2), the front page (Q6).
        http("CreatePost",    Method::POST,   "/api/posts",                              Function,  post(create_post)),
        http("PutPost",       Method::PUT,    "/api/posts/{postId}",                     Function,  put(put_post)),
        http("GetPost",       Method::GET,    "/api/posts/{postId}",                     Anonymous, get(get_post)).answers(one_post),
        http("DeletePost",    Method::DELETE, "/api/posts/{postId}",                     Function,  delete(delete_post)),
        http("GetFeed",       Method::GET,    "/api/feed",                               Anonymous, get(get_feed)).answers(feed),
        // Comments: write (C3), read (Q4).
        http("CreateComment", Method::POST,   "/api/posts/{postId}/comments",             Function,  post(create_comment)),
        http("ListComments",  Method::GET,    "/api/posts/{postId}/comments",             Anonymous, get(list_comments)).answers(comments),
        http("GetComment",    Method::GET,    "/api/posts/{postId}/comments/{commentId}", Anonymous, get(get_comment)).answers(one_post),
        http("DeleteComment", Method::DELETE, "/api/posts/{postId}/comments/{commentId}", Function,  delete(delete_comment)),
        // Likes: like (C4), who likes it (Q5).
        http("LikePost",      Method::PUT,    "/api/posts/{postId}/likes/{userId}",       Function,  put(like_post)),
        http("GetLike",       Method::GET,    "/api/posts/{postId}/likes/{userId}",       Anonymous, get(get_like)).answers(one_post),
        http("UnlikePost",    Method::DELETE, "/api/posts/{postId}/likes/{userId}",       Function,  delete(unlike_post)),
        http("ListLikes",     Method::GET,    "/api/posts/{postId}/likes",                Anonymous, get(list_likes)).answers(likes),
        // Changes that could not be applied: look, apply again, give up.
        http("ListDeadLetters",  Method::GET,    "/api/dead-letters",                   Function, get(list_dead_letters)).answers(letters),
        http("GetDeadLetter",    Method::GET,    "/api/dead-letters/{letterId}",        Function, get(get_dead_letter)).answers(letter),
        http("ReplayDeadLetter", Method::POST,   "/api/dead-letters/{letterId}/replay", Function, post(replay_dead_letter)).answers(letter),
        http("DeleteDeadLetter", Method::DELETE, "/api/dead-letters/{letterId}",        Function, delete(delete_dead_letter)),
    ]
}

/// The function that answers what no other function takes, with a 404 or 405 problem document.
///
/// The Functions host tries routes in the order of the functions' names and takes the first that
/// fits, so this name must sort last. It asks for a key: the router behind it has all routes, and a
/// host with another order must not open the commands to everybody.
pub const UNMATCHED: &str = "ZUnmatchedRoute";

/// What can be set on the app.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many requests are worked on at a time, and how much memory they may need.
    pub admission: AdmissionOptions,
    /// How the app knows who calls.
    pub authentication: Authentication,
    /// The budget and the slices of renames and removals.
    pub background: BackgroundOptions,
    /// How the weekly audit goes about it.
    pub audit: audit::Options,
    /// How long a projection tries again: a host may wait for long, a test may not.
    pub retry_budget: Duration,
    /// Whether comments and likes of one post that come at the same time go to the store together;
    /// otherwise each goes alone, to be compared.
    pub combine: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            admission: AdmissionOptions::default(),
            authentication: Authentication::default(),
            background: BackgroundOptions::default(),
            audit: audit::Options::default(),
            retry_budget: RETRY_BUDGET,
            combine: true,
        }
    }
}

/// The app on a database.
pub fn app(cosmos: &Arc<Cosmos>) -> CustomHandler {
    app_with(cosmos, Options::default())
}

/// The app with other options.
pub fn app_with(cosmos: &Arc<Cosmos>, options: Options) -> CustomHandler {
    let Options { admission, authentication, background, audit, retry_budget, combine } = options;
    let blog = Blog::new(cosmos).combining(combine);
    let background = Background::new(background);
    let projections = Projections::new(DeadLetters::new(cosmos), retry_budget)
        .with(UsernamesInPosts::new(&blog, &background))
        .with(PostCopiesInUsers(blog.clone()))
        .with(HomeFeed(blog.clone()))
        .with(PostsIntegrity::new(&blog, &background));
    let audited = blog.clone();
    let app = CustomHandler::new().trigger(
        audit::FUNCTION,
        move |_: TimerInfo, host: Option<TraceContext>| {
            let blog = audited.clone();
            let work = async move { audit_blog(&blog, audit).await };
            telemetry::invocation(audit::FUNCTION, "timer", host, Box::pin(work))
        },
    );
    let admission = Admission::new(admission);
    let functions = http_functions();
    let routes = functions.iter().map(|function| (function.name, function.route));
    let app = app.http_functions(routes.chain([(UNMATCHED, "/api/{*rest}")]));
    projections.serve(app).http(router(Parts { admission, authentication, blog, projections }))
}

/// What the handlers of HTTP functions take as their `State`.
struct Parts {
    admission: Admission,
    authentication: Authentication,
    blog: Blog,
    projections: Projections,
}

impl FromRef<Arc<Parts>> for Authentication {
    fn from_ref(parts: &Arc<Parts>) -> Self {
        parts.authentication
    }
}

impl FromRef<Arc<Parts>> for Blog {
    fn from_ref(parts: &Arc<Parts>) -> Self {
        parts.blog.clone()
    }
}

impl FromRef<Arc<Parts>> for Projections {
    fn from_ref(parts: &Arc<Parts>) -> Self {
        parts.projections.clone()
    }
}

/// A function that the host calls over HTTP, as `functions/` declares it.
pub struct HttpFunction {
    /// The folder in `functions/`.
    pub name: &'static str,
    /// The method.
    pub method: Method,
    /// The route, with a slash in front.
    pub route: &'static str,
    /// Whether the host asks for a key.
    pub auth_level: AuthLevel,
    footprint: Footprint,
    handler: MethodRouter<Arc<Parts>>,
}

impl HttpFunction {
    fn answers(self, footprint: Footprint) -> Self {
        Self { footprint, ..self }
    }
}

/// Who may call a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthLevel {
    /// Everybody.
    Anonymous,
    /// Who has a key of the function or of the app.
    Function,
}

fn http(
    name: &'static str,
    method: Method,
    route: &'static str,
    auth_level: AuthLevel,
    handler: MethodRouter<Arc<Parts>>,
) -> HttpFunction {
    HttpFunction { name, method, route, auth_level, footprint: Footprint::Small, handler }
}

fn router(parts: Parts) -> Router {
    let functions = http_functions();
    let names = functions.iter().map(|one| (one.method.clone(), one.route, one.name));
    let names = FunctionNames::new(names, UNMATCHED);
    let admission = parts.admission.clone();
    functions
        .into_iter()
        .fold(Router::new(), |router, function| {
            let turn = (admission.clone(), function.footprint);
            let handler = function.handler.route_layer(middleware::from_fn_with_state(turn, admit));
            router.route(function.route, handler)
        })
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(no_such_route)
        .layer(middleware::from_fn(catch_panics))
        .layer(middleware::from_fn_with_state(names, answered))
        .with_state(Arc::new(parts))
}
