//! Random requests as the SDKs send them.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use proptest::prelude::*;

/// The grammar of requests: alternatives, of which the first is the shortest. A name with a capital stands for one text
/// in all of a request. `<etag of 1>` and `<feed>` are what the client remembers.
///
/// Left out are answers of the emulator that are known to differ from the service's: undefined becomes null, double
/// quotes, conditions of patches, comparisons of two types and NOT IN, BETWEEN or LIKE of what is missing (hence `IS_…`
/// below every NOT), aggregates of nothing (hence COUNT alone), If-Match with `*`, batches with another key, `move` to the
/// same path.
const GRAMMAR: &str = r#"
request = {read} | {write} | {write} | {write} | {write} | {patch} | {patch} | {batch} | {query} | {query} | {query} | {feed}
read = GET {docs}/{Id}; {key}{none} >>
write = POST {docs}; {key} >> {item} | POST {docs}; {key}; x-ms-documentdb-is-upsert: True{minimal}{match} >> {item} | {replace} | {replace} | DELETE {docs}/{Id}; {key}{match} >>
replace = PUT {docs}/{Id}; {key}{minimal}{match} >> {item}
patch = PATCH {docs}/{Id}; {key}{match} >> {"operations": [{steps}]}
batch = POST {docs}; {key}; x-ms-cosmos-is-batch-request: True; x-ms-cosmos-batch-atomic: True >> [{parts}]
query = POST {docs}; {key}; {size}; x-ms-documentdb-isquery: True >> {"query": "SELECT {sql}", "parameters": [{"name": "@p", "value": 1}]}
feed = GET {docs}; {size}; x-ms-documentdb-partitionkeyrangeid: 0; a-im: Incremental feed{since} >>

docs = /dbs/d/colls/c/docs
Id = 1 | 2 | ä b
id = 1 | 2 | ä b
key = x-ms-documentdb-partitionkey: [{Key}]
Key = "a" | "a" | "a" | "b" | 1 | null | true
pk = {Key} | {Key} | {Key} | {Key} | {Key} | {Key} | {Key} | {Key} | "b"
size = x-ms-max-item-count: 100 | x-ms-max-item-count: 1 | x-ms-max-item-count: 2
match = | | | ; if-match: <etag of {id}>
none = | ; if-none-match: <etag of {id}>
since = | ; if-none-match: <feed>
minimal = | | | ; prefer: return=minimal

item = {"id": "{Id}", "pk": {pk}{properties}}
properties = | , "n": {number}{more} | , "s": {text}{more} | {more}
more = | , "a": [{values}] | , "o": {"x": {value}} | , "a": {value}, "o": {value} | , "n": {value}, "s": {value}
values = | {value} | {value}, {value}
value = 0 | {number} | {text} | null | true | false | [{values}] | {"x": {value}} | {"x": {value}, "y": {value}}
number = 0 | 1 | -2 | 1.5
text = "" | "x" | "xy" | "Äx"

steps = {step} | {step} | {step}, {step} | {step}, {step}, {step}
step = {"op": "remove", "path": "{path}"} | {"op": "{put}", "path": "{path}", "value": {value}} | {"op": "incr", "path": "{path}", "value": {number}} | {"op": "move", {move}}
put = set | add | replace
path = /n | /s | /a | /o | /a/0 | /a/1 | /a/- | /o/x | /o/y/x | /id | /pk
move = "from": "/n", "path": "/s" | "from": "/a/0", "path": "/a/1" | "from": "/o/x", "path": "/a/-" | "from": "/o", "path": "/a" | "from": "/a", "path": "/a/0"

parts = {part} | {part}, {part} | {part}, {part}, {part}, {part}
part = {"operationType": "Read", "id": "{id}"} | {"operationType": "Create", {body}} | {"operationType": "Upsert", {body}} | {"operationType": "Replace", {body}} | {"operationType": "Delete", "id": "{id}"{if}}
body = {body1} | {body2}
body1 = "id": "1"{if}, "resourceBody": {"id": "1", "pk": {Key}{properties}}
body2 = "id": "2"{if}, "resourceBody": {"id": "2", "pk": {Key}{properties}}
if = | | , "ifMatch": "<etag of {id}>"

sql = * FROM c {where} | {row} FROM c {where} | {row} FROM c {where} | {row} FROM c {where} ORDER BY c.id | TOP 2 VALUE c.id FROM c {where} ORDER BY c.id DESC | VALUE c.id FROM c {where} ORDER BY c.id OFFSET 1 LIMIT 2 | DISTINCT VALUE c.pk FROM c {where} | VALUE COUNT(1) FROM c {where} | VALUE {of_number} FROM c WHERE IS_NUMBER(c.n) | VALUE {of_text} FROM c WHERE IS_STRING(c.s)
row = VALUE c | c.id, c.pk | VALUE {'i': c.id, 'l': [c.pk, 1]} | VALUE CONCAT(c.id, UPPER('äz'), LOWER('QÄ'), TRIM(' x ')) | VALUE SUBSTRING(c.id, 1, 1) | VALUE REPLACE(c.id, ' ', 'b')
of_number = -c.n | ABS(c.n) | CEILING(c.n) | FLOOR(c.n) | SIGN(c.n) | SQRT(ABS(c.n)) | c.n + 1 | c.n * 2 | c.n - 0.5 | c.n / 4 | c.n % 2 | POWER(c.n, 2) | EXP(c.n) | c.n = 1 ? 'one' : 'other' | TOSTRING(c.n) | COUNT(c.n)
of_text = UPPER(c.s) | LENGTH(c.s) | LEFT(c.s, 1) | RIGHT(c.s, 1) | SUBSTRING(c.s, 1, 5) | CONCAT(c.s, 'z') | LTRIM(c.s) | c.s||'a' | REPLACE(c.s, 'x', '')
where = | WHERE {defined} | WHERE {defined} | WHERE {maybe} | WHERE ({defined}) {and} {maybe}
and = AND | OR
defined = c.id > '1' | IS_NUMBER(c.n) AND {numeric} | IS_STRING(c.s) AND {textual} | IS_{type}({place}) | NOT ({defined}) | ({defined}) {and} ({defined})
numeric = c.n {op} {n} | c.n BETWEEN {n} AND {n} | c.n IN ({n}, {n}, true, null)
textual = c.s {op} {s} | {f}(c.s, {s}) | c.s LIKE 'x%' | c.s LIKE '%_y'
maybe = c.n {order} {n} | ARRAY_CONTAINS(c.a, {n}) | c.n = true | c.n = null | c.o.x = c.n | c.a[0] = 1 | c.s = c.pk | c.o = {'x': 1} | c.a = [1] | c['n'] > 0
op = {order} | !=
order = = | < | <= | > | >=
n = 0 | 1 | -2 | 1.5 | @p
s = '' | 'x' | 'xy' | 'Äx'
f = CONTAINS | STARTSWITH | ENDSWITH
type = DEFINED | NULL | BOOL | NUMBER | STRING | ARRAY | OBJECT
place = c.n | c.o.x | c.a[0] | c
"#;

static RULES: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let rules = GRAMMAR.lines().filter_map(|line| line.split_once(" ="));
    rules.map(|(name, rest)| (name, rest.split(" |").map(str::trim).collect())).collect()
});

#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        self.headers.iter().try_for_each(|(name, value)| write!(f, "; {name}: {value}"))?;
        write!(f, " >> {}", self.body)
    }
}

impl Request {
    pub(crate) fn new(text: &str) -> Self {
        let (head, body) = text.split_once(" >>").unwrap();
        let mut head = head.split("; ");
        let (method, path) = head.next().unwrap().split_once(' ').unwrap();
        let headers = head.map(|header| header.split_once(": ").unwrap());
        Self {
            method: method.to_owned(),
            path: path.replace(' ', "%20").replace('ä', "%C3%A4"),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            body: body.trim().to_owned(),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(header, _)| header == name)
    }
}

/// Sequences of requests. They shrink to fewer, and to the first alternatives.
pub(crate) fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = prop::collection::vec(any::<u8>(), 0..80).prop_map(|choices| {
        let mut text = String::new();
        expand("{request}", &mut choices.into_iter(), &mut BTreeMap::new(), &mut text);
        Request::new(&text)
    });
    prop::collection::vec(request, 1..30)
}

/// Writes a text in which each name of a rule, such as `{id}`, is replaced by the alternative that the next choice takes.
fn expand<'t>(
    mut text: &'t str,
    choices: &mut impl Iterator<Item = u8>,
    chosen: &mut BTreeMap<&'t str, &'t str>,
    to: &mut String,
) {
    while let Some((before, rest)) = text.split_once('{') {
        to.push_str(before);
        let rule = rest.split_once('}').filter(|(name, _)| RULES.contains_key(name));
        let Some((name, after)) = rule else {
            to.push('{');
            text = rest;
            continue;
        };
        let mut choose = || {
            let alternatives = &RULES[name];
            alternatives[usize::from(choices.next().unwrap_or(0)) % alternatives.len()]
        };
        let alternative = if name.starts_with(char::is_uppercase) {
            *chosen.entry(name).or_insert_with(choose)
        } else {
            choose()
        };
        expand(alternative, choices, chosen, to);
        text = after;
    }
    to.push_str(text);
}
