//! Items and requests as input.

use crate::{ValidationOptions, validate};

#[test]
fn a_line_that_is_longer_than_any_item_is_named() {
    let text = format!("{{}}\n{}", "x".repeat(33 << 20));
    let validated = validate(text.as_bytes(), vec![], vec![], ValidationOptions::default());
    let error = validated.unwrap_err().to_string();
    assert!(error.starts_with("line 2: longer than 32 MB"), "{error}");
}
