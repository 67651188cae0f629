//! The rewriting of documents on their way through the trigger, in cases that `recorded/trigger-texts.json` lacks.

use proptest::prelude::*;
use serde_json::{Value, json};
use tributary_local::host::newtonsoft::{Exception, rewritten_date, write_page};

fn rewritten(text: &str) -> Option<String> {
    rewritten_date(text).unwrap()
}

fn written(value: &Value) -> String {
    let page = write_page(std::slice::from_ref(value), true).unwrap();
    page[1..page.len() - 1].to_owned()
}

#[test]
fn a_string_that_looks_like_a_date_is_rewritten() {
    let cases = [
        ("2026-11-21T00:25:54.50+0130", Some("2026-11-20T22:55:54.5+00:00")),
        ("2026-12-31T24:00:00Z", Some("2027-01-01T00:00:00Z")),
        ("2026-12-31T24:00:00.5Z", None),
        // Its parser of zones is lenient.
        ("2026-11-21T09:25:54+99:99", Some("2026-11-17T04:46:54+00:00")),
        ("2026-11-21T09:25:54:30", Some("2026-11-21T09:25:54")),
        ("2026-11-21T09:25:54.123456789", Some("2026-11-21T09:25:54.1234567")),
        // A time that an offset moves out of range stops at the end of the range.
        ("0001-01-01T00:00:00+02:00", Some("0001-01-01T00:00:00+00:00")),
        ("9999-12-31T23:59:59-02:00", Some("9999-12-31T23:59:59.9999999+00:00")),
        ("/Date(1700000000000-05)/", Some("2023-11-14T22:13:20+00:00")),
        ("/Date(0+1)/", None),
        ("/Date()/", None),
        ("/Date(1.5)/", None),
        ("/Date(99999999999999999999)/", None),
        ("/date(0)/", None),
        // Eight digits do not parse, nor do nine before a zone.
        ("2026-11-21T09:25:54.123456789Z", None),
        ("2026-02-29T00:00:00Z", None),
        ("0000-01-01T00:00:00Z", None),
        ("2026-11-21T09:25:54 UTC", None),
        ("2026-11-21T09:25:54Z and more", None),
        ("äöüäöüäöüTäöüäöüäöüäöü", None),
    ];
    for (text, expected) in cases {
        assert_eq!(rewritten(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_date_out_of_range_throws_before_the_handler_is_called() {
    for text in [
        "/Date(500000000000000)/",
        "/Date(253402300800000)/",
        "/Date(-62135596800001)/",
        "9999-12-31T24:00:00Z",
    ] {
        assert_eq!(rewritten_date(text), Err(Exception::DateOutOfRange), "{text}");
        let page = [json!({ "id": "1" }), json!({ "id": "2", "list": [text] })];
        assert_eq!(write_page(&page, true), Err(Exception::DateOutOfRange));
        assert!(write_page(&page, false).unwrap().contains(text));
    }
}

#[test]
fn a_page_is_nested_at_most_64_deep_with_its_list() {
    let nested = |depth: usize| {
        let inside = (1..depth).fold(json!(1), |inside, _| json!([inside]));
        json!({ "id": inside })
    };
    for parses_dates in [true, false] {
        assert!(write_page(&[nested(1), nested(63)], parses_dates).is_ok());
        assert_eq!(write_page(&[nested(1), nested(64)], parses_dates), Err(Exception::TooDeep));
    }
}

#[test]
fn numbers_with_a_fraction_or_an_exponent_go_through_double() {
    let cases = [
        ("1.5e-7", "1.5E-07"),
        ("0.00001", "1E-05"),
        ("0.0001", "0.0001"),
        ("1e14", "100000000000000.0"),
        ("1e300", "1E+300"),
    ];
    for (text, expected) in cases {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(written(&value), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn no_string_makes_the_rewriting_fail(text in "(/Date\\()?\\PC{0,45}(\\)/)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{0,9})?([Zz]|[+-][0-9]{2}:?[0-9]{0,2})?") {
        let _ = rewritten_date(&text);
    }

    #[test]
    fn a_rewritten_time_stays_when_it_is_rewritten(
        text in "20[0-9]{2}-0[1-9]-[12][0-8]T[01][0-9]:[0-5][0-9]:[0-5][0-9]([.][0-9]{1,7})?(Z|[+-]0[0-9]:[0-5][0-9])?"
    ) {
        let once = rewritten(&text).unwrap();
        prop_assert_eq!(rewritten(&once), Some(once));
    }

    #[test]
    fn a_double_keeps_its_value(number in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
        let text = written(&json!(number));
        prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits());
        prop_assert!(text.contains(['.', 'E']));
    }
}
