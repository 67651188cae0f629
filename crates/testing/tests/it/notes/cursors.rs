//! Lists in pages, while readers are switched.

use tributary_testing::problems::problem;

use super::{TIMES, World, compared, instance, operate, switched};

/// Reads a page of two notes.
async fn page(world: &World, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
    let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let page =
        world.get(&format!("/api/owners/ann/notes?limit=2{cursor}")).await.expect(200).json();
    let items = page["items"].as_array().unwrap();
    let texts = items.iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect();
    (texts, page["nextCursor"].as_str().map(str::to_owned))
}

/// Reads the pages behind a cursor.
async fn rest(world: &World, cursor: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut next = Some(cursor.to_owned());
    while let Some(cursor) = next {
        let (more, cursor) = page(world, Some(&cursor)).await;
        texts.extend(more);
        next = cursor;
    }
    texts
}

#[tokio::test]
async fn a_list_goes_on_in_the_generation_in_which_it_began() {
    let world = compared(5).await;
    let second = instance(&world).await;
    let (first, old) = page(&world, None).await;
    let old = old.unwrap();
    assert_eq!(first, ["Note 4", "Note 3"]);
    switched(&world, "switch").await;
    let (first, new) = page(&second, None).await;
    let new = new.unwrap();
    assert_eq!(first, ["NOTE 0", "NOTE 1"]);
    assert_eq!(rest(&second, &old).await, ["Note 2", "Note 1", "Note 0"]);
    switched(&world, "switch-back").await;
    assert_eq!(rest(&second, &new).await, ["NOTE 2", "NOTE 3", "NOTE 4"]);
    assert_eq!(rest(&world, &old).await, ["Note 2", "Note 1", "Note 0"]);
}

#[tokio::test]
async fn a_list_of_copies_that_are_removed_begins_again() {
    let world = compared(5).await;
    let old = page(&world, None).await.1.unwrap();
    switched(&world, "switch").await;
    let new = page(&world, None).await.1.unwrap();
    operate(&world, "confirm").await.expect(200);
    tokio::time::sleep(TIMES.known_for).await;
    let path = format!("/api/owners/ann/notes?cursor={old}");
    let refused = problem(&world.get(&path).await, 400);
    assert_eq!(refused["errors"][0]["field"], "cursor");
    let rule = refused["errors"][0]["message"].as_str().unwrap();
    assert!(rule.contains("Begin again without it"), "{rule}");
    assert_eq!(rest(&world, &new).await, ["NOTE 2", "NOTE 3", "NOTE 4"]);
    for bad in ["x", "W10"] {
        let refused =
            problem(&world.get(&format!("/api/owners/ann/notes?cursor={bad}")).await, 400);
        assert_eq!(refused["errors"][0]["field"], "cursor");
    }
}
