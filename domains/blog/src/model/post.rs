//! Posts, their copies in short form, and the tombstone of a deleted one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    http::from_form,
    projection::item,
    values::{self, CommandId, Timestamp, id_rule, length_rule, may_be_rewritten_by_host},
};
use unicode_segmentation::UnicodeSegmentation;

use super::{Author, PostsItem, UserId, Username};

values::checked_text!(
    /// The id of a post.
    PostId, "change-feeds", id_rule;

    /// A title: 1 to 200 characters.
    Title, "Notes on the change feed", length_rule(1..=200);

    /// The content of a post: 1 byte to 512 KiB.
    PostContent, "The change feed delivers at least once.", |text| match text.len() {
        1..=524_288 => Ok(text),
        _ => Err("must be 1 to 524288 bytes long in UTF-8".into()),
    }
);

pub(super) const MAX_SUMMARY_CLUSTERS: usize = 200;

/// The most bytes of the content that a summary keeps, in UTF-8: one cluster may be as long as the
/// whole content.
pub(super) const MAX_SUMMARY_BYTES: usize = 8 * 1024;

#[item(PostsItem, id = post_id, version, recent, former_owners(former_authors = user_id), tombstone(
    /// Its copy in `users` is a tombstone, too, without date, commands and former authors.
    struct DeletedPost {
        id: String,
        post_id: PostId,
        user_id: UserId,
        /// The creation date of the deleted post: a post created anew under its id is newer. Tombstones of
        /// earlier releases lack it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        post_creation_date: Option<Timestamp> = creation_date,
    }
))]
pub struct Post {
    #[serde(flatten)]
    pub public: PublicPost,
    pub username_version: u64,
    /// The [`PostText::digest`] of the request that made the post, if it had an `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<CommandId>,
}

/// A post. In lists and in the feed, its content is a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Post")]
pub struct PublicPost {
    /// Equal to `postId`, but in copies, which may need an id of their own.
    #[schemars(with = "PostId")]
    pub id: String,
    /// The partition key.
    pub post_id: PostId,
    /// The author.
    pub user_id: UserId,
    /// The author's name.
    pub user_username: Username,
    /// The title.
    #[schemars(with = "Title")]
    pub title: String,
    /// The whole content, or a summary.
    #[schemars(with = "PostContent")]
    pub content: String,
    /// The number of comments.
    pub comment_count: u64,
    /// The number of likes.
    pub like_count: u64,
    /// The date of creation.
    pub creation_date: Timestamp,
}

from_form!(
    /// The text of a post, as its author sends it.
    #[derive(Debug, Clone)]
    pub struct PostText {
        pub user_id: UserId = text("userId", UserId::parse),
        pub title: Title = text("title", Title::parse),
        pub content: PostContent = text("content", PostContent::parse),
    }
);

impl PostText {
    /// Returns the identity of the text: requests with one key and another text are told apart by it.
    pub fn digest(&self) -> CommandId {
        CommandId::from_text(&format!("{}\n{}", self.title, self.content))
    }
}

impl Post {
    pub fn new(post_id: PostId, text: &PostText, author: &Author) -> Self {
        let public = PublicPost {
            id: post_id.to_string(),
            post_id,
            user_id: author.user_id.clone(),
            user_username: author.username.clone(),
            title: text.title.to_string(),
            content: text.content.to_string(),
            comment_count: 0,
            like_count: 0,
            creation_date: Timestamp::now(),
        };
        Self::first(public, author.version, None)
    }

    pub fn created_at(mut self, creation_date: Timestamp) -> Self {
        self.public.creation_date = creation_date;
        self
    }

    /// Returns the post in the place of a deleted one. Its creation date is later, even if the clock of that
    /// one's instance was ahead. `None`: the id had too many authors.
    pub fn over(mut self, deleted: &DeletedPost) -> Option<Self> {
        if let Some(earlier) = deleted.post_creation_date {
            self.public.creation_date = self.public.creation_date.max(earlier.next());
        }
        self.replacing(Some(deleted))
    }

    pub fn has_text(&self, text: &PostText) -> bool {
        self.public.title == text.title.as_str() && self.public.content == text.content.as_str()
    }

    /// Returns the post with another text, in the same version.
    pub fn with_text(mut self, text: &PostText) -> Self {
        self.public.title = text.title.to_string();
        self.public.content = text.content.to_string();
        self
    }

    pub fn with_counts(&self, comment_count: u64, like_count: u64) -> Self {
        let mut post = self.next();
        post.public.comment_count = comment_count;
        post.public.like_count = like_count;
        post
    }

    /// Returns true if the Functions host may have rewritten a text of this post in a trigger. Then the
    /// post must be read again before it is copied.
    pub fn may_be_rewritten(&self) -> bool {
        [self.public.title.as_str(), &self.public.content, self.public.user_username.as_str()]
            .into_iter()
            .any(may_be_rewritten_by_host)
    }
}

impl DeletedPost {
    /// Returns the tombstone of the copy of the post in the partition of an author.
    pub fn copy(&self, id: &str, user_id: UserId, version: u64) -> Self {
        let (post_creation_date, recent, former_authors) = Default::default();
        let post_id = self.post_id.clone();
        let id = id.to_owned();
        Self {
            id,
            post_id,
            user_id,
            version,
            post_creation_date,
            recent,
            former_authors,
            ttl: self.ttl,
        }
    }
}

/// A copy of a post in short form. It carries the version of the post that it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostCopy {
    /// The post as a reader sees it, with a summary for its content.
    #[serde(flatten)]
    pub public: PublicPost,
    pub version: u64,
}

impl PostCopy {
    /// Returns the id of the copy of a post in the partition of its author. The author's own item
    /// is in the same partition, and a post may have its author's id.
    pub fn id_in_users(post_id: &PostId) -> String {
        format!("post:{post_id}")
    }

    pub fn for_users(post: &Post) -> Self {
        Self::new(post, Self::id_in_users(&post.public.post_id))
    }

    pub fn for_feed(post: &Post) -> Self {
        Self::new(post, post.public.id.clone())
    }

    fn new(post: &Post, id: String) -> Self {
        let content = summary(&post.public.content);
        let public = PublicPost { id, content, ..post.public.clone() };
        Self { public, version: post.version }
    }
}

/// Returns the first 200 extended grapheme clusters, or as many of them as fit in 8 KiB, followed by
/// `…` if something was cut. If even the first cluster does not fit, as many of its characters as do.
pub fn summary(content: &str) -> String {
    let end = summary_end(content);
    if end == content.len() { content.to_owned() } else { format!("{}…", &content[..end]) }
}

/// Returns the index at which a summary ends. Reads little more than 8 KiB, whatever the length of
/// the content.
fn summary_end(content: &str) -> usize {
    // The end of a cluster depends on the text before it and on one character after it.
    let window = &content[..content.floor_char_boundary(MAX_SUMMARY_BYTES + char::MAX_LEN_UTF8)];
    let is_whole = window.len() == content.len();
    let next_starts = window.grapheme_indices(true).map(|(start, _)| start).skip(1);
    let ends = next_starts.chain(is_whole.then_some(content.len()));
    let last = ends.take(MAX_SUMMARY_CLUSTERS).take_while(|end| *end <= MAX_SUMMARY_BYTES).last();
    last.unwrap_or_else(|| content.floor_char_boundary(MAX_SUMMARY_BYTES))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_summary_is_the_content_or_its_beginning_and_bounded(
            // Combining characters make clusters long. JSON escapes a line feed and a quote.
            content in "\\PC{0,400}|([\u{300}-\u{302}]{0,90}([a\"\n\u{1}]|\r\n|\u{600}\"|👨\u{200d}|🇩|🇪|ᄀ|ᅡ)){0,250}",
        ) {
            let short = summary(&content);
            prop_assert!(short == summary_by_the_text(&content));
            prop_assert!(short.len() <= 8_192 + '…'.len_utf8());
        }
    }

    /// The rule of the API, word by word, on the whole content.
    fn summary_by_the_text(content: &str) -> String {
        let mut kept = String::new();
        for cluster in content.graphemes(true).take(200) {
            if kept.len() + cluster.len() > 8_192 {
                break;
            }
            kept.push_str(cluster);
        }
        if kept.is_empty() {
            for character in content.chars() {
                if kept.len() + character.len_utf8() > 8_192 {
                    break;
                }
                kept.push(character);
            }
        }
        if kept.len() < content.len() { kept + "…" } else { kept }
    }
}
