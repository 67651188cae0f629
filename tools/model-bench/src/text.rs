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
const POOL_BYTES: usize = 32 * 1024;

/// A pool of text from which all others are cut: they need to differ, not to be read.
#[derive(Debug)]
pub(crate) struct TextPool(String);

impl TextPool {
    pub(crate) fn new(mut random: Random) -> Self {
        let mut pool = String::with_capacity(POOL_BYTES + 16);
        while pool.len() < POOL_BYTES {
            pool.push_str(WORDS[random.index(WORDS.len())]);
            pool.push(' ');
        }
        Self(pool)
    }

    /// Returns a title of a post: 20 to 60 characters.
    pub(crate) fn title(&self, random: &mut Random) -> String {
        self.cut(random, 20, 60)
    }

    /// Returns a content of a post: 800 to 1,600 characters.
    pub(crate) fn content(&self, random: &mut Random) -> String {
        self.cut(random, 800, 1_600)
    }

    /// Returns a text of a random length between the two.
    pub(crate) fn cut(&self, random: &mut Random, shortest: usize, longest: usize) -> String {
        let length = shortest + random.index(longest - shortest + 1);
        let start = random.index(POOL_BYTES - longest);
        self.0[start..start + length].to_owned()
    }
}
