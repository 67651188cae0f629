//! Full-text search. A word is a run of letters and digits, whatever their case; a term is a word, or words that follow
//! each other. Words are compared as they are written: stems and stop words are not modelled.

use crate::json::Json;

use super::{Args, Run, any};
use crate::sql::operators::number_of;

/// How fast more of a term count less.
const K1: f64 = 1.2;

/// How much a long text counts less.
const B: f64 = 0.75;

fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn lowercase(text: &str, run: &Run) -> Option<String> {
    run.spend(text.len() / 16)?;
    Some(text.to_lowercase())
}

/// Returns how often a term is in a text, both in lower case.
fn occurrences(text: &str, term: &str, run: &Run) -> Option<u32> {
    let mut count: u32 = 0;
    let mut rest = words(text);
    let term = words(term);
    term.clone().next()?;
    loop {
        let mut following = rest.clone();
        if rest.next().is_none() {
            return Some(count);
        }
        let mut is_here = true;
        for wanted in term.clone() {
            run.spend(1)?;
            is_here = following.next() == Some(wanted);
            if !is_here {
                break;
            }
        }
        count = count.saturating_add(is_here.into());
    }
}

/// `FULLTEXTCONTAINS` and its like: one answer decides, an undefined one makes the rest undefined.
pub(super) fn contains(args: &Args<'_>, decisive: bool) -> Option<Json> {
    let text = lowercase(args.text(0)?, args.run)?;
    let answers = (1..args.len()).map(|n| {
        if let Some(Json::Object(_)) = args.get(n) {
            let message = "A fuzzy term of a full-text search is not supported by this store.";
            return args.run.refuse(message.to_owned());
        }
        let term = lowercase(args.text(n)?, args.run)?;
        Some(occurrences(&text, &term, args.run)? > 0)
    });
    any(answers, decisive)
}

/// The number of words; 0 of what is no text.
#[allow(clippy::cast_precision_loss, reason = "the numbers of the service are doubles")]
pub(super) fn word_count(args: &Args<'_>) -> Option<Json> {
    let text = args.text(0).unwrap_or_default();
    args.run.spend(text.len() / 16)?;
    Some(Json::Number(words(text).count() as f64))
}

/// BM25 of a text and terms, with the number of texts, of all their words, and of the texts that have each term.
pub(super) fn score(args: &Args<'_>) -> Option<Json> {
    let text = lowercase(args.text(0)?, args.run)?;
    let (texts, all_words) = (args.number(2)?, args.number(3)?);
    let length = word_count(args)?.as_f64()? / (all_words / texts);
    let mut score = 0.0;
    for (term, hits) in args.array(1)?.iter().zip(args.array(4)?) {
        let term = lowercase(term.as_str()?, args.run)?;
        let count = f64::from(occurrences(&text, &term, args.run).unwrap_or_default());
        let hits = hits.as_f64()?;
        let rarity = ((texts - hits + 0.5) / (hits + 0.5)).ln_1p();
        score += rarity * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length));
    }
    number_of(score)
}
