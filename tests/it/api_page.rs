//! The requests of `docs/api.md`. A row of the page is an example of its function: the tests of
//! access and of secrets send it for each function that they have no request of their own for.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use tributary_functions::http::HttpFunction;

use crate::costs::tables::document;

/// A request as the page has it.
#[derive(Debug)]
pub(crate) struct Documented {
    /// As `PUT /api/things/{thingId}`.
    request: String,
    /// The names of the body's fields.
    pub(crate) fields: Vec<String>,
    /// The status of the first good answer.
    pub(crate) status: u16,
}

static PAGE: LazyLock<Vec<Documented>> =
    LazyLock::new(|| document("docs/api.md").lines().flat_map(row).collect());

/// The requests of a row: the first cell with requests, then the body, then the answer. The tables
/// of dead letters have no body.
fn row(line: &str) -> Vec<Documented> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let of_cell = |cell: &str| -> Vec<String> {
        let quoted = cell.split('`').skip(1).step_by(2);
        let requests = quoted.filter(|text| text.contains(" /api/"));
        requests.map(|text| text.split('?').next().unwrap_or_default().to_owned()).collect()
    };
    let Some(place) = cells.iter().position(|cell| !of_cell(cell).is_empty()) else {
        return Vec::new();
    };
    let body = cells.get(place + 1).copied().unwrap_or_default();
    let fields: Vec<String> = body.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let answer = cells.get(place + 2).copied().unwrap_or_default();
    let status = answer.get(..3).and_then(|status| status.parse().ok()).unwrap_or(200);
    let documented = |request| Documented { request, fields: fields.clone(), status };
    of_cell(cells[place]).into_iter().map(documented).collect()
}

/// The row of a function.
pub(crate) fn documented(function: &HttpFunction) -> Option<&'static Documented> {
    let request = format!("{} {}", function.method, function.route);
    PAGE.iter().find(|row| row.request == request)
}

impl Documented {
    /// The body with this text in each field, and the user in `userId`.
    pub(crate) fn body(&self, user: &str, text: &str) -> Option<Value> {
        let value = |field: &str| Value::from(if field == "userId" { user } else { text });
        let body: Map<String, Value> =
            self.fields.iter().map(|field| (field.clone(), value(field))).collect();
        (!body.is_empty()).then(|| body.into())
    }
}

/// The path of a function for a user and a post; `None` when it names anything else.
pub(crate) fn path(function: &HttpFunction, user: &str, post: &str) -> Option<String> {
    let path = function.route.replace("{userId}", user).replace("{postId}", post);
    (!path.contains('{')).then_some(path)
}

#[test]
fn a_row_is_taken_apart() {
    let rows = row("| C1 | `PUT /api/things/{thingId}` | `name` | 201 Thing; 200 after an edit |");
    assert_eq!(rows[0].request, "PUT /api/things/{thingId}");
    assert_eq!((rows[0].fields.as_slice(), rows[0].status), (&["name".to_owned()][..], 201));
    let rows = row("| | `GET /api/things?limit=`, `GET /api/others` | | list |");
    let requests: Vec<&str> = rows.iter().map(|row| row.request.as_str()).collect();
    assert_eq!(requests, ["GET /api/things", "GET /api/others"]);
}
