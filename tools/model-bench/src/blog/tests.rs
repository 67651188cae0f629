//! The models on the local endpoint: equal answers, and complete reports.

use std::{sync::Arc, time::Duration};

use clap::Parser;
use tributary::blog::{
    self, Blog,
    model::{PublicComment, PublicPost, Username},
};
use tributary_functions::audit::{self, Finding, Listener};
use tributary_tools::html::page::check_page;

use super::{
    cli::BlogCli,
    data::{BlogShape, DataSet, PostPlan},
    load::load,
    models::{Like, Model, ModelUser, V1, V2, V3},
    report::{BlogMeasurements, BlogReport},
    request::{BlogRequest, ModelVersion},
    run::run,
};
use crate::{
    cli::ModelCli,
    progress::ProgressLine,
    report::Forms,
    store::{Database, ModelStore},
};

fn data(users: u32, density: f64) -> Arc<DataSet> {
    Arc::new(DataSet::generate(BlogShape { users, seed: 5, density }).unwrap())
}

/// Returns a model with the data set in it, on two physical partitions.
async fn loaded<M: Model + 'static>(data: &Arc<DataSet>) -> (M, Database) {
    let database =
        ModelStore::Local.make(M::VERSION.database(), &M::containers().unwrap(), 2).await.unwrap();
    let model = M::new(&database.cosmos).unwrap();
    load(&model, &database, data, ProgressLine::new("Loading".into(), 0)).await.unwrap();
    (model, database)
}

/// The answers of a model to every query about some users and posts.
#[derive(Debug, PartialEq)]
struct Answers {
    users: Vec<ModelUser>,
    posts: Vec<PublicPost>,
    posts_of_users: Vec<Vec<PublicPost>>,
    comments: Vec<Vec<PublicComment>>,
    likes: Vec<Vec<Like>>,
    feed: Vec<PublicPost>,
}

impl Answers {
    async fn of<M: Model>(model: &M, data: &DataSet) -> Self {
        let mut answers = Self {
            users: Vec::new(),
            posts: Vec::new(),
            posts_of_users: Vec::new(),
            comments: Vec::new(),
            likes: Vec::new(),
            feed: model.feed(30).await.unwrap(),
        };
        for user in data.authors() {
            let id = user.id.as_str();
            answers.users.push(model.get_user(id).await.unwrap());
            answers.posts_of_users.push(model.list_user_posts(id, 10).await.unwrap());
        }
        for post in data.posts.iter().step_by(7) {
            let id = post.id.as_str();
            answers.posts.push(model.get_post(id).await.unwrap());
            answers.comments.push(model.list_comments(id, 3).await.unwrap());
            answers.likes.push(model.list_likes(id, 3).await.unwrap());
        }
        answers
    }

    /// Compares with the data set itself: three models could be equally wrong.
    fn check(&self, data: &DataSet) {
        for (post, plan) in self.posts.iter().zip(data.posts.iter().step_by(7)) {
            let (title, content) = data.text_of(plan);
            assert_eq!((&post.title, &post.content), (&title, &content));
            assert_eq!(post.user_username, data.author(plan).username);
            let counts = (post.comment_count, post.like_count);
            assert_eq!(counts, (plan.comments.into(), plan.likes.into()));
        }
        let mut moments: Vec<_> = data.posts.iter().map(PostPlan::created).collect();
        moments.sort_unstable_by(|a, b| b.cmp(a));
        moments.truncate(30);
        let fed: Vec<_> = self.feed.iter().map(|post| post.creation_date).collect();
        assert_eq!(fed, moments);
        assert!(self.posts_of_users.iter().all(|posts| (5..=10).contains(&posts.len())));
        assert!(self.comments.iter().any(|comments| comments.len() == 3));
        assert!(self.likes.iter().any(|likes| likes.len() == 3));
    }
}

#[tokio::test]
async fn the_three_models_answer_alike() {
    let data = data(2, 0.15);
    let (v1, _v1) = loaded::<V1>(&data).await;
    let (v2, _v2) = loaded::<V2>(&data).await;
    let (v3, _v3) = loaded::<V3>(&data).await;
    let answers = Answers::of(&v1, &data).await;
    answers.check(&data);
    assert_eq!(answers, Answers::of(&v2, &data).await);
    assert_eq!(answers, Answers::of(&v3, &data).await);

    let after = after_commands(&v1, &data).await;
    assert_eq!(after, after_commands(&v2, &data).await);
    assert_eq!(after, after_commands(&v3, &data).await);
}

/// Returns a model's answers after commands: a user, a post, two comments and a like.
async fn after_commands<M: Model>(model: &M, data: &DataSet) -> Vec<String> {
    let ann = &data.users[0];
    let old = data.posts[0].id.as_str();
    let before = model.get_post(old).await.unwrap();
    let name = Username::parse("Visitor".to_owned()).unwrap();
    let visitor = model.create_user(&name).await.unwrap();
    let post_id = model.create_post(ann, ("A title", "A content")).await.unwrap();
    for content in ["Well.", "Well?"] {
        model.create_comment(&post_id, &visitor, content).await.unwrap();
    }
    model.like_post(&post_id, &visitor).await.unwrap();
    model.create_comment(old, &visitor, "Old.").await.unwrap();
    model.like_post(old, &visitor).await.unwrap();

    let of_post = |post: &PublicPost| {
        let PublicPost { user_username, title, comment_count, like_count, .. } = post;
        format!("{title} by {user_username}: {comment_count} comments, {like_count} likes")
    };
    let mut shown = vec![model.get_user(visitor.id.as_str()).await.unwrap().username.to_string()];
    shown.push(of_post(&model.get_post(&post_id).await.unwrap()));
    shown.push(of_post(&model.get_post(old).await.unwrap()));
    let added = model.get_post(old).await.unwrap();
    assert_eq!(added.comment_count, before.comment_count + 1);
    assert_eq!(added.like_count, before.like_count + 1);
    for comment in model.list_comments(&post_id, 9).await.unwrap() {
        shown.push(format!("{}: {}", comment.user_username, comment.content));
    }
    for like in model.list_likes(&post_id, 9).await.unwrap() {
        shown.push(format!("{} likes", like.user_username));
    }
    shown
}

struct Kept(Vec<Finding>);

impl Listener for Kept {
    fn findings(&mut self, findings: &[Finding]) {
        self.0.extend_from_slice(findings);
    }
}

#[tokio::test]
async fn the_loaded_items_of_v3_are_those_of_the_product() {
    // More posts than fit into the feed.
    let mut data_sets = (1..).map(|users| data(users, 0.03));
    let data = data_sets.find(|data| data.posts.len() > 100).unwrap();
    let (_, database) = loaded::<V3>(&data).await;
    let mut kept = Kept(Vec::new());
    let options = audit::AuditOptions { settle: Duration::ZERO, repair: false };
    let audit = blog::audit::audit(&Blog::new(&database.cosmos));
    let summary = audit.run(options, &mut kept).await.unwrap();
    assert_eq!(kept.0, []);
    let (comments, likes) = data.reactions();
    // Users have a reservation each, posts a copy.
    let items = 2 * (data.users.len() + data.posts.len()) as u64 + comments + likes;
    assert_eq!(summary.items, items);
}

async fn measured(options: &str) -> (BlogCli, BlogReport) {
    let cli =
        ModelCli::parse_from(["model-bench"].into_iter().chain(options.split_whitespace())).blog;
    let report = run(&cli, &ModelStore::Local).await.unwrap();
    (cli, report)
}

#[tokio::test]
async fn v3_stays_flat_where_v1_grows() {
    let options = "--sweep 1,3 --density 0.05 --users-per-partition 1 --requests 1 --models v1,v3";
    let (_, report) = measured(options).await;
    let [small, large] = report.sizes.as_slice() else { panic!("{report:?}") };
    for request in BlogRequest::ALL {
        let at = |size: &BlogMeasurements, model| {
            let row = size.row(request, model).unwrap();
            (row.measured.store_requests, row.measured.seen.unwrap().physical_partitions)
        };
        let before = at(small, ModelVersion::V3);
        let after = at(large, ModelVersion::V3);
        assert!((before.0 - after.0).abs() < 1e-9, "{request}: {before:?}, {after:?}");
        // The measured users and posts may be in the same partition by chance.
        assert!(after.1 <= 2.0, "{request}: {after:?}");
        if matches!(request, BlogRequest::Q3 | BlogRequest::Q6) {
            let before = at(small, ModelVersion::V1);
            let after = at(large, ModelVersion::V1);
            assert!(after.0 > before.0 && after.1 > before.1, "{request}: {before:?}, {after:?}");
            let rows = [small, large].map(|size| size.row(request, ModelVersion::V1).unwrap());
            let [few, many] = rows.map(|row| row.measured.seen.unwrap().logical_partitions);
            assert!(many > few);
        }
        if request == BlogRequest::Q6 {
            let units = |model| large.row(request, model).unwrap().measured.request_units;
            assert!(units(ModelVersion::V1) > 10.0 * units(ModelVersion::V3));
        }
    }
}

#[tokio::test]
async fn the_report_tells_all_and_needs_nothing_from_elsewhere() {
    let (_, report) = measured("--users 1 --density 0.05 --requests 1").await;
    let folder = std::env::temp_dir().join(format!("model-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [html, json] = ["report.html", "report.json"].map(|name| folder.join(name));
    let cli = ModelCli::parse_from([
        "model-bench".as_ref(),
        "--markdown".as_ref(),
        "--html".as_ref(),
        html.as_os_str(),
        "--json".as_ref(),
        json.as_os_str(),
    ]);
    report.write(&cli.blog.output).unwrap();
    let [html, json] = [html, json].map(|path| std::fs::read_to_string(path).unwrap());
    std::fs::remove_dir_all(folder).unwrap();

    check_page(&html);
    // A bar for each request and model, of charges and of latencies; and the article's dearest.
    assert_eq!(html.matches("<rect ").count(), 60);
    assert!(html.contains("2063.54"));

    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["measured"]["sizes"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 30);
    for row in rows {
        for number in ["store_requests", "physical_partitions", "request_units", "p99_ms"] {
            assert!(row[number].as_f64().is_some_and(|value| value > 0.0), "{number}: {row}");
        }
    }
    assert_eq!(json["published"][9]["v1_v2_v3"][0]["request_units"], 2063.54);
}
