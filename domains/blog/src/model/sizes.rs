//! The largest sizes of the items of a page as JSON, in bytes. The test fills each field up to its
//! limit: JSON takes six bytes for a control character, and fewer for all others.

/// A short post in a page: in the feed, and in the list of its author.
pub const SHORT_POST_BYTES: usize = 11_419;
pub const COMMENT_BYTES: usize = 61_024;
/// A like in a page. Its id is that of its user with a word before it.
pub const LIKE_BYTES: usize = 1_024;
/// The content of a whole post, in UTF-8.
pub const POST_BYTES: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{PublicComment, PublicLike, PublicPost, post::MAX_SUMMARY_BYTES, summary};

    /// The bytes of an item as it stands in a page, with the comma behind it.
    fn size<T: serde::de::DeserializeOwned + serde::Serialize>(item: &Value) -> usize {
        let item: T = serde_json::from_value(item.clone()).unwrap();
        serde_json::to_vec(&item).unwrap().len() + 1
    }

    fn worst(content: &str) -> Value {
        let id = "a".repeat(128);
        json!({
            "id": id, "postId": id, "userId": id, "userUsername": "\u{1}".repeat(64),
            "title": "\u{1}".repeat(200), "content": content, "commentCount": u64::MAX,
            "likeCount": u64::MAX, "creationDate": "2026-11-21T09:25:54.120Z",
        })
    }

    /// 199 clusters of two characters, one of them escaped, and a long one: 8 KiB in all.
    fn worst_content() -> String {
        let long = format!("\"{}", "\u{301}".repeat((MAX_SUMMARY_BYTES - 199 - 1) / 2));
        format!("{}{long}x", "\u{1}".repeat(199))
    }

    #[test]
    fn no_item_is_larger_than_its_bound_and_the_bound_is_close() {
        let short_post = size::<PublicPost>(&worst(&summary(&worst_content())));
        let comment = size::<PublicComment>(&worst(&"\u{1}".repeat(10_000)));
        let like = size::<PublicLike>(&worst(""));
        for (size, bound) in
            [(short_post, SHORT_POST_BYTES), (comment, COMMENT_BYTES), (like, LIKE_BYTES)]
        {
            assert!(size <= bound && bound < size + 256, "{size} of {bound}");
        }
    }
}
