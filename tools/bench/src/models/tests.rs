//! The models on the local endpoint: equal answers, the items of the product, and V3 as flat as the article says.

use std::time::Duration;

use tributary::blog::{self, Blog};
use tributary_functions::audit::{AuditOptions, Finding};

use super::*;

fn data(users: u32, density: f64) -> Arc<DataSet> {
    Arc::new(DataSet::generate(users, 5, density))
}

/// Returns the properties of an answer that do not depend on the time.
fn shown(answer: &Value) -> Vec<Value> {
    const PROPERTIES: [&str; 7] =
        ["username", "userUsername", "userId", "title", "content", "commentCount", "likeCount"];
    let items = answer.as_array().map_or_else(|| vec![answer], |items| items.iter().collect());
    items.iter().map(|item| PROPERTIES.map(|property| item[property].clone()).into()).collect()
}

/// Returns a model's answers to all queries about some users and posts, and again after commands.
async fn answers<M: Model>(data: &Arc<DataSet>) -> Vec<Vec<Value>> {
    let Loaded { model, .. } = Loaded::<M>::new(data, 2).await.unwrap();
    let mut answers = Vec::new();
    let mut ask = async |call| answers.push(shown(&model.answer(call).await.unwrap()));
    ask(ModelCall::GetFeed).await;
    for user in &data.users[..data.n_authors] {
        ask(ModelCall::GetUser(user.id.clone())).await;
        ask(ModelCall::ListUserPosts(user.id.clone())).await;
    }
    let old = data.posts[0].id.clone();
    let text = data.text_of(&data.posts[1]);
    let new = ModelCall::CreatePost { author: data.users[0].clone(), text };
    let post = model.answer(new).await.unwrap()["id"].as_str().unwrap().to_owned();
    for id in [&old, &post] {
        let [author, liker] = [1, 2].map(|n| data.users[data.users.len() - n].clone());
        let content = "Well.".to_owned();
        let new = ModelCall::CreateComment { post: id.clone(), author, content };
        model.answer(new).await.unwrap();
        model.answer(ModelCall::LikePost { post: id.clone(), liker }).await.unwrap();
    }
    for id in data.posts.iter().step_by(7).map(|plan| &plan.id).chain([&old, &post]) {
        ask(ModelCall::GetPost(id.clone())).await;
        ask(ModelCall::ListComments(id.clone())).await;
        ask(ModelCall::ListLikes(id.clone())).await;
    }
    answers
}

#[tokio::test]
async fn the_three_models_answer_alike() {
    let data = data(2, 0.15);
    let v1 = answers::<V1>(&data).await;
    // Three models could be equally wrong, so one is compared with the data set.
    let mut newest: Vec<_> = data.posts.iter().collect();
    newest.sort_by_key(|post| std::cmp::Reverse(post.created()));
    for (post, plan) in v1[0].iter().zip(newest) {
        let content = blog::model::summary(&data.text_of(plan).content);
        let counts = [plan.comments, plan.likes];
        assert_eq!((&post[3], &post[4]), (&data.text_of(plan).title.into(), &content.into()));
        assert_eq!([&post[5], &post[6]], [&Value::from(counts[0]), &Value::from(counts[1])]);
        assert_eq!(post[1], data.author(plan).username);
    }
    for other in [answers::<V2>(&data).await, answers::<V3>(&data).await] {
        assert_eq!(v1.len(), other.len());
        v1.iter().zip(&other).for_each(|(v1, other)| assert_eq!(v1, other));
    }
}

#[tokio::test]
async fn the_loaded_items_of_v3_are_those_of_the_product() {
    // More posts than fit into the feed.
    let mut data_sets = (1..).map(|users| data(users, 0.03));
    let data = data_sets.find(|data| data.posts.len() > 100).unwrap();
    let loaded = Loaded::<V3>::new(&data, 2).await.unwrap();
    let options = AuditOptions { settle: Duration::ZERO, repair: false };
    let mut findings: Vec<Finding> = Vec::new();
    let runtime = Some(loaded.endpoint.runtime().await.unwrap());
    let cosmos = Cosmos::new(loaded.endpoint.account(), runtime, DATABASE.to_owned());
    let audit = blog::audit::audit(&Blog::new(&cosmos));
    let summary = audit.run(options, &mut findings).await.unwrap();
    assert_eq!(findings, []);
    assert!(summary.items > 2 * (data.users.len() + data.posts.len()) as u64);
}

#[tokio::test]
async fn v3_stays_flat_where_v1_grows() {
    let small = rows(1, &data(1, 0.05), 1).await.unwrap();
    let large = rows(1, &data(3, 0.05), 3).await.unwrap();
    for (small, large) in small.iter().zip(&large) {
        let is_fan_out = matches!(small.kind, RequestKind::Q3 | RequestKind::Q6);
        let [before, after] = [small, large].map(|row| row.store[0]);
        match small.model {
            2 => assert!((before - after).abs() < 1e-9, "{:?} of V3", small.kind),
            _ => assert_eq!(after > before, is_fan_out, "{:?} of V{}", small.kind, small.model + 1),
        }
    }
    let feed: Vec<f64> = large
        .iter()
        .filter(|row| row.kind == RequestKind::Q6)
        .map(|row| row.request_units)
        .collect();
    assert!(feed[0] > 10.0 * feed[2], "{feed:?}");
}
