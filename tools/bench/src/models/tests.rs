//! The models on the local endpoint: equal answers.

use tributary::blog;

use super::{
    requests::RequestKind::{C2, C3, C4, Q1, Q2, Q3, Q4, Q5, Q6},
    *,
};

fn shown(answer: &Value) -> Vec<Value> {
    const PROPERTIES: [&str; 7] =
        ["username", "userUsername", "userId", "title", "content", "commentCount", "likeCount"];
    let items = answer.as_array().map_or_else(|| vec![answer], |items| items.iter().collect());
    items.iter().map(|item| PROPERTIES.map(|property| item[property].clone()).into()).collect()
}

async fn answers<M: Model>(data: &DataSet) -> Vec<Vec<Value>> {
    let Loaded { model, endpoint: _endpoint } = Loaded::<M>::new(data, 2).await.unwrap();
    let text = data::PostText::new(&mut DataSet::choices(0));
    let ask = async |kind, user: &Person, post: &str| {
        let call =
            ModelCall { kind, user: user.clone(), post: post.to_owned(), text: text.clone() };
        model.answer(call).await.unwrap()
    };
    let any = &data.users[0];
    let mut answers = vec![shown(&ask(Q6, any, "").await)];
    for user in &data.users[..data.n_authors] {
        answers.push(shown(&ask(Q1, user, "").await));
        answers.push(shown(&ask(Q3, user, "").await));
    }
    let id = |post: &Vec<Value>| post[0]["id"].as_str().unwrap().to_owned();
    let old = id(&data.posts[0]);
    let post = ask(C2, any, "").await["id"].as_str().unwrap().to_owned();
    for id in [&old, &post] {
        let [author, liker] = [1, 2].map(|n| &data.users[data.users.len() - n]);
        ask(C3, author, id).await;
        ask(C4, liker, id).await;
    }
    for id in data.posts.iter().step_by(7).map(id).chain([old, post]) {
        for kind in [Q2, Q4, Q5] {
            answers.push(shown(&ask(kind, any, &id).await));
        }
    }
    answers
}

#[tokio::test]
async fn the_three_models_answer_alike() {
    let data = DataSet::generate(2, 15);
    let v1 = answers::<V1>(&data).await;
    // Three models could be equally wrong, so one is compared with the data set.
    let mut newest: Vec<_> = data.posts.iter().map(|post| &post[0]).collect();
    newest.sort_by_key(|post| std::cmp::Reverse(post["creationDate"].to_string()));
    for (shown, item) in v1[0].iter().zip(newest) {
        let content = blog::model::summary(item["content"].as_str().unwrap());
        assert_eq!((&shown[1], &shown[3]), (&item["userUsername"], &item["title"]));
        assert_eq!((&shown[4], &shown[5]), (&content.into(), &item["commentCount"]));
        assert_eq!(shown[6], item["likeCount"]);
    }
    for other in [answers::<V2>(&data).await, answers::<V3>(&data).await] {
        assert_eq!(v1.len(), other.len());
        v1.iter().zip(&other).for_each(|(v1, other)| assert_eq!(v1, other));
    }
}
