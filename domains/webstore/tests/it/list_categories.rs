//! `GET /categories` and `GET /tags`.

use super::shop::{KINDS, label};
use crate::{expect::bad_fields, world::World};

#[tokio::test]
async fn a_list_is_sorted_by_code_point_and_then_by_id() {
    let world = World::new().await;
    for (list, _) in KINDS {
        // UTF-16 would put the bicycle before the full-width character.
        let names = ["B", "Z", "a", "a", "ab", "é", "Ｂ", "🚲"];
        for (n, name) in names.iter().enumerate().rev() {
            label(&world, &format!("{list}/id{n}"), name).await.expect(201);
        }
        for limit in [1, 3, 100] {
            let items = world.list_by(&format!("/api/{list}"), limit).await;
            let ids: Vec<_> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
            assert_eq!(ids, ["id0", "id1", "id2", "id3", "id4", "id5", "id6", "id7"]);
        }
        let requests_before = world.endpoint.request_count();
        let page = world.get(&format!("/api/{list}?limit=3")).await.expect(200).json();
        assert_eq!(world.endpoint.request_count() - requests_before, 1);
        let cursor = page["nextCursor"].as_str().unwrap();
        for (other, _) in KINDS.iter().filter(|(other, _)| *other != list) {
            let foreign = world.get(&format!("/api/{other}?cursor={cursor}")).await;
            assert_eq!(bad_fields(&foreign), ["cursor"]);
        }
    }
}

#[tokio::test]
async fn a_list_shows_no_deleted_categories_and_may_be_empty() {
    let world = World::new().await;
    for (list, _) in KINDS {
        let path = format!("/api/{list}");
        assert!(world.list(&path).await.is_empty());
        label(&world, &format!("{list}/red"), "Red").await.expect(201);
        world.delete(&format!("{path}/red")).await.expect(204);
        assert!(world.list(&path).await.is_empty());
    }
}
