//! The bounds of what a body has: what is at a bound is taken, and what is one beyond is refused by its name.

use serde_json::{Value, json};

use super::{
    examples::{Example, Examples, Listed},
    openapi::OpenApiDocument,
};
use crate::{AppUnderTest, World};

/// The units of lengths, in the words of rules. Ids have letters and digits.
const UNITS: [&str; 3] = ["characters", "letters", "bytes"];

/// Characters of four bytes and of two UTF-16 units, and marks that add no grapheme cluster.
const PADDING: [char; 2] = ['😀', '\u{301}'];

/// The length of a text that is refused where its rule names no other.
const OVERLONG: u64 = 100_000;

/// A value, and true if it has to be taken.
type Sent = (Value, bool);

/// Sends the example of each command with one of its numbers, lists and texts at its bounds, and one beyond them.
/// Numbers and lists have their bounds in the OpenAPI document, texts in the words of their rule there: `must be 1
/// to 200 characters long`.
pub(super) async fn are_kept<A: AppUnderTest>(world: &World<A>) {
    let document = OpenApiDocument::of::<A>();
    let mut examples = Examples::of::<A>("");
    examples.create(world, async |_, one| one.send(world, &[]).await).await;
    for listed in Listed::all::<A>() {
        let Some(Example { path, body: Some(body), .. }) = examples.example(&listed) else {
            continue;
        };
        let schema = document.body(&listed.function).unwrap();
        for (field, (body, is_good)) in bodies(&document, "", schema, &body) {
            let method = listed.function.method.as_str();
            let answer = world.call(method, &path, &[], Some(body)).await;
            let fields = A::read_refusal(&answer, "validation").unwrap_or_default();
            let of_items = serde_json::from_str(&answer.text).map(|answer| of_items("", &answer));
            // An error of the app's own may leave the envelope out: `title` for `article.title`.
            let names = [field.as_str(), field.split_once('.').map_or(&field, |(_, field)| field)];
            let is_named = fields.iter().any(|named| names.contains(&named.as_str()))
                || of_items.unwrap_or_default().contains(&field);
            // The request may be in vain: an item is missing, or a name is taken, which has its own field.
            let status = answer.status.as_u16();
            let is_unnamed = status == A::status_of("validation", 400) && fields.is_empty();
            let is_refused =
                is_named || is_unnamed || [400, 413].contains(&status) || status >= 500;
            assert!(
                if is_good { !is_refused } else { is_named },
                "{field} of {} is {} bounds: {status} {}",
                listed.function.name,
                if is_good { "within its" } else { "out of" },
                answer.text
            );
        }
    }
}

/// Returns the fields that the outcomes of a list of items name as bad ones.
fn of_items(path: &str, answer: &Value) -> Vec<String> {
    let list = |name: &str| answer[name].as_array().into_iter().flatten();
    let own = list("errors").filter_map(|error| error["field"].as_str());
    let own = own.map(|field| format!("{path}{field}"));
    let items = list("items").enumerate();
    own.chain(items.flat_map(|(n, item)| of_items(&format!("{path}items[{n}]."), item))).collect()
}

/// Returns values of a schema that are at a bound or beyond it in one place, each with the name of the place in an
/// error. Elsewhere they are as `example`.
fn bodies(
    document: &OpenApiDocument,
    name: &str,
    schema: &Value,
    example: &Value,
) -> Vec<(String, Sent)> {
    let kind = schema["type"].as_str().or(schema["type"][0].as_str());
    let properties = schema["properties"].as_object();
    let own = match kind {
        Some("integer" | "number") => numbers(name, schema),
        Some("string") => texts(schema, example.as_str().unwrap_or_default(), Value::from),
        Some("object") if properties.is_none() => {
            let around = json!({"": ""}).to_string().len();
            texts(schema, &"a".repeat(around), |text| json!({"": text.get(around..)}))
        }
        _ => Vec::new(),
    };
    let mut found: Vec<_> = own.into_iter().map(|sent| (name.to_owned(), sent)).collect();
    if let Some(items) = schema.get("items") {
        // An example leaves optional lists out.
        let first = if example.is_null() { document.example(items) } else { example[0].clone() };
        let of_first = bodies(document, &format!("{name}[0]"), items, &first).into_iter();
        found.extend(of_first.map(|(name, (item, is_good))| (name, (vec![item].into(), is_good))));
        let [min, max] = ["minItems", "maxItems"].map(|bound| schema[bound].as_u64());
        let max = max.unwrap_or_else(|| panic!("{name} needs its maxItems: {schema}"));
        let of = |length| vec![first.clone(); usize::try_from(length).unwrap()].into();
        found.extend(at_bounds(min, max, of).into_iter().map(|sent| (name.to_owned(), sent)));
    }
    for (field, schema) in properties.into_iter().flatten() {
        let path = format!("{name}.{field}");
        for (name, (member, is_good)) in
            bodies(document, path.trim_start_matches('.'), schema, &example[field])
        {
            let mut whole = example.clone();
            whole[field] = member;
            found.push((name, (whole, is_good)));
        }
    }
    found
}

/// Returns numbers. `2.0` is a whole number as `2` is: JSON has one kind of numbers.
fn numbers(name: &str, schema: &Value) -> Vec<Sent> {
    let bound = |bound: &str| {
        let bound = schema[bound].as_f64();
        bound.unwrap_or_else(|| panic!("{name} needs a minimum and a maximum: {schema}"))
    };
    let [min, max] = ["minimum", "maximum"].map(bound);
    let half = (min + 0.5, schema["type"] == "number");
    let all = [(min, true), (max, true), (min - 1.0, false), (max + 1.0, false), half];
    let written = all
        .into_iter()
        .flat_map(|(n, is_good)| [(n.to_string(), is_good), (format!("{n:.1}"), is_good)]);
    written.map(|(text, is_good)| (text.parse().unwrap(), is_good)).collect()
}

/// Returns texts that are made from an example, but none where there is a choice or a date.
fn texts(schema: &Value, example: &str, value: impl Fn(String) -> Value) -> Vec<Sent> {
    let is_date = schema["format"].as_str().is_some_and(|format| format.starts_with("date"));
    if is_date || schema.get("enum").or(schema.get("const")).is_some() {
        return Vec::new();
    }
    let rule = schema["description"].as_str().unwrap_or_default();
    let words: Vec<&str> = rule.split(' ').map(|word| word.trim_end_matches(',')).collect();
    let number = |at: Option<usize>| words.get(at?)?.parse::<u64>().ok();
    let unit = words.iter().position(|word| UNITS.contains(word));
    let of = |unit: &str, length| value(text_of(example, usize::try_from(length).unwrap(), unit));
    match (unit, number(unit.and_then(|at| at.checked_sub(1)))) {
        (Some(at), Some(max)) => {
            let min = number(at.checked_sub(3)).filter(|_| words[at - 2] == "to");
            at_bounds(min, max, |length| of(words[at], length))
        }
        _ => vec![(of("letters", OVERLONG), false)],
    }
}

fn at_bounds(min: Option<u64>, max: u64, of: impl Fn(u64) -> Value) -> Vec<Sent> {
    let below = min.and_then(|min| min.checked_sub(1));
    let good = min.into_iter().chain([max]).map(|length| (of(length), true));
    good.chain(below.into_iter().chain([max + 1]).map(|length| (of(length), false))).collect()
}

/// Returns a text of this length: the begin of the example, and padding that has other lengths in other units.
fn text_of(example: &str, length: usize, unit: &str) -> String {
    let size = |c: char| if unit == "bytes" { c.len_utf8() } else { 1 };
    let padding = if unit == "letters" { &['a'] } else { &PADDING[..] };
    let mut text = String::new();
    let mut left = length;
    for c in example.chars().chain(padding.iter().copied().cycle()) {
        if size(c) > left {
            break;
        }
        text.push(c);
        left -= size(c);
    }
    text + &"a".repeat(left)
}
