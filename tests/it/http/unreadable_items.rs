//! Items that the app cannot read, such as another program writes them, in every list.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::every_list::{self, AnyList, EVERY_LIST};
use crate::world::World;

/// The stored items of a list.
async fn stored(world: &World, list: AnyList) -> Vec<Value> {
    let ids: BTreeSet<String> = list.ids(world, 100).await.into_iter().collect();
    let items = world.items(list.container).await.into_iter();
    let of_type = |item: &Value| {
        // There are products of another category, too.
        list.of_type.is_none_or(|of| item["type"] == of) && item["categoryId"] != "c2"
    };
    items.filter(|item| of_type(item) && ids.contains(&id_of(item))).collect()
}

/// The id by which a list shows an item: the copy of a post has an id of its own.
fn id_of(item: &Value) -> String {
    let id = item["id"].as_str().unwrap();
    id.strip_prefix("post:").unwrap_or(id).to_owned()
}

#[tokio::test]
async fn every_list_leaves_unreadable_items_out_and_goes_on_past_any_number_of_them() {
    let world = every_list::world().await;
    for list in EVERY_LIST {
        let all = list.ids(&world, 2).await;
        let items = stored(&world, list).await;
        assert_eq!(items.len(), all.len(), "{}", list.path);
        // One in the middle; a page of them; all but the last.
        for (first, last) in [(2, 2), (1, 4), (0, all.len() - 2)] {
            let bad = &all[first..=last];
            let broken = items.iter().filter(|item| bad.contains(&id_of(item)));
            for item in broken.clone() {
                let mut item = item.clone();
                item[list.field] = json!({"of": "another program"});
                world.write_item(list.container, &item).await;
            }
            for limit in [1, 2, 100] {
                let found = list.ids(&world, limit).await;
                let good: Vec<_> = all.iter().filter(|id| !bad.contains(id)).cloned().collect();
                assert_eq!(found, good, "{} by {limit} without {bad:?}", list.path);
            }
            for item in broken {
                world.write_item(list.container, item).await;
            }
        }
        assert_eq!(list.ids(&world, 2).await, all);
    }
}

/// What follows is not looked for in the same request: it may be thousands of items away.
#[tokio::test]
async fn a_page_of_unreadable_items_is_empty_and_names_where_the_list_goes_on() {
    let world = every_list::world().await;
    let list = EVERY_LIST[1];
    let all = list.ids(&world, 100).await;
    let items = stored(&world, list).await;
    for item in items.iter().filter(|item| all[..2].contains(&id_of(item))) {
        let mut item = item.clone();
        item[list.field] = json!({"of": "another program"});
        world.write_item(list.container, &item).await;
    }
    let page = world.get(&format!("{}limit=1", list.path)).await.expect(200).json();
    assert_eq!((&page["items"], page["nextCursor"].is_string()), (&json!([]), true), "{page}");
}

/// Not even their place in the list can be read.
#[tokio::test]
async fn a_list_goes_on_past_items_without_a_date() {
    let world = every_list::world().await;
    for (list, date) in [
        (EVERY_LIST[0], "creationDate"),
        (EVERY_LIST[1], "creationDate"),
        (EVERY_LIST[2], "creationDate"),
        (EVERY_LIST[3], "orderDate"),
        (EVERY_LIST[7], "publishedDate"),
        (EVERY_LIST[8], "publishedDate"),
        (EVERY_LIST[9], "publishedDate"),
        (EVERY_LIST[10], "failedAt"),
    ] {
        let all = list.ids(&world, 2).await;
        let items = stored(&world, list).await;
        let broken = items.iter().filter(|item| all[..4].contains(&id_of(item)));
        for item in broken.clone() {
            let mut item = item.clone();
            // It stands where it stood.
            item[date] = json!(format!("{} or so", item[date].as_str().unwrap()));
            world.write_item(list.container, &item).await;
        }
        for limit in [1, 2, 100] {
            assert_eq!(list.ids(&world, limit).await, all[4..], "{} by {limit}", list.path);
        }
        for item in broken {
            world.write_item(list.container, item).await;
        }
    }
}
