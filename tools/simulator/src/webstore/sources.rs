//! Labels and products that no client changes.

use serde_json::{Value, json};
use tributary_local::client::Call;

use crate::copies::{FIRST_NAME, ManyCopies, SOURCE};

const TAGGED: usize = 4;

/// Returns a category and a tag under one name with so many products.
pub(super) fn many_copies(count: usize) -> ManyCopies {
    ManyCopies {
        container: "product",
        partition_key: "categoryId",
        list: (format!("/api/categories/{SOURCE}/products"), count),
        items: (0..count).map(product).collect(),
        renames: |name| {
            let paths = ["categories", "tags"].map(|list| format!("/api/{list}/{SOURCE}"));
            paths.map(|path| Call::put(path, json!({ "name": name }))).into()
        },
        names: |item| {
            let tags = item["tags"].as_array().into_iter().flatten();
            std::iter::once(&item["categoryName"]).chain(tags.map(|tag| &tag["name"])).collect()
        },
        renamed: 0,
    }
}

fn product(number: usize) -> Value {
    let id = format!("{SOURCE}-{number}");
    let tag = json!({ "id": SOURCE, "name": FIRST_NAME, "version": 1 });
    let tags = if number.is_multiple_of(TAGGED) { vec![tag] } else { Vec::new() };
    json!({
        "type": "product", "id": id, "categoryId": SOURCE, "categoryName": FIRST_NAME,
        "categoryVersion": 1, "sku": "SKU-1", "name": id, "sortName": id,
        "description": "A text of some length. ".repeat(10), "price": 0, "tags": tags, "version": 1,
        "createdBy": "the-simulator",
    })
}
