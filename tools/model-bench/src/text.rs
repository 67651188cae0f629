//! Texts. Titles and contents of posts have the lengths that the charge model assumes for the
//! article's: about 40 characters of a title and 1,200 of a content.

use tributary_local::chaos::Random;

const WORDS: [&str; 24] = [
    "stream",
    "river",
    "partition",
    "query",
    "change",
    "feed",
    "post",
    "reader",
    "write",
    "small",
    "copy",
    "index",
    "order",
    "newest",
    "item",
    "page",
    "key",
    "the",
    "and",
    "with",
    "over",
    "of",
    "a",
    "in",
];
const POOL: usize = 32 * 1024;

/// A pool of text that all others are cut from: they need to differ, not to be read.
#[derive(Debug)]
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn new(mut random: Random) -> Self {
        let mut pool = String::with_capacity(POOL + 16);
        while pool.len() < POOL {
            pool.push_str(WORDS[random.index(WORDS.len())]);
            pool.push(' ');
        }
        Self(pool)
    }

    /// A title of a post: 20 to 60 characters.
    pub(crate) fn title(&self, random: &mut Random) -> String {
        self.cut(random, 20, 60)
    }

    /// A content of a post: 800 to 1,600 characters.
    pub(crate) fn content(&self, random: &mut Random) -> String {
        self.cut(random, 800, 1_600)
    }

    /// So many characters.
    pub(crate) fn cut(&self, random: &mut Random, shortest: usize, longest: usize) -> String {
        let length = shortest + random.index(longest - shortest + 1);
        let start = random.index(POOL - longest);
        self.0[start..start + length].to_owned()
    }
}
