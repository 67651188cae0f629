//! The property with the time of creation.

use cosmos_model::partitioning::path::PropertyPath;

use super::ItemProfile;
use crate::sample::SampleItem;

/// Words in the names of times of creation, the surest first.
const CREATION_WORDS: [&str; 4] = ["creat", "timestamp", "time", "date"];

/// Words in the names of other times: of a change, of an end, or of something that is no write.
const OTHER_TIME_WORDS: [&str; 11] =
    ["updat", "modif", "chang", "edit", "expir", "due", "delet", "valid", "until", "end", "birth"];

/// Returns the property that is a time of creation in most items, or `None` where only `/_ts` can be one.
pub fn time_of_creation(part: &[SampleItem]) -> Option<PropertyPath> {
    let mut profile = ItemProfile::default();
    for item in part {
        profile.add(&item.value);
    }
    let name =
        |path: &PropertyPath| path.names().last().map_or(String::new(), |name| name.to_lowercase());
    let place =
        |path: &PropertyPath| CREATION_WORDS.iter().position(|word| name(path).contains(word));
    let times = profile.paths().filter(|(path, values)| {
        let is_other = OTHER_TIME_WORDS.iter().any(|word| name(path).contains(word));
        values.times > profile.items() / 2 && (!is_other || place(path) == Some(0))
    });
    let best = times.min_by_key(|(path, values)| {
        (place(path).unwrap_or(CREATION_WORDS.len()), std::cmp::Reverse(values.times))
    });
    best.map(|(path, _)| path.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(item: &Value) -> Option<String> {
        let part = [SampleItem { value: item.clone(), bytes: 0 }];
        time_of_creation(&part).map(|path| path.to_string())
    }

    #[test]
    fn a_creation_comes_before_all_others_and_a_change_or_an_end_is_none() {
        let at = "2026-11-22T00:00:00Z";
        let item = json!({"updatedAt": at, "date": at, "createdAt": at, "dueDate": at, "_ts": 1});
        assert_eq!(found(&item).as_deref(), Some("/createdAt"));
        assert_eq!(
            found(&json!({"updatedAt": at, "scheduled": at})).as_deref(),
            Some("/scheduled")
        );
        for none in
            [json!({"updatedAt": at}), json!({"expiryDate": at}), json!({"_ts": 1}), json!({})]
        {
            assert_eq!(found(&none), None, "{none}");
        }
    }
}
