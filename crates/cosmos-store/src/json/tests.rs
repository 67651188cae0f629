use proptest::prelude::*;

use super::*;

fn text(value: &Json) -> String {
    value.to_string()
}

pub(crate) fn values() -> impl Strategy<Value = Json> {
    let number = prop_oneof![
        (-5..5_i32).prop_map(f64::from),
        any::<f64>().prop_filter("JSON has no other numbers", |number| number.is_finite()),
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number.prop_map(Json::Number),
        "[ab\u{0}\u{1}é😀\"]{0,3}".prop_map(|text| Json::text(text.as_str())),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let property = ("[ab]{1,2}".prop_map(Box::from), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Json::Array),
            prop::collection::vec(property, 0..4).prop_map(Json::Object),
        ]
    })
}

#[test]
fn numbers_are_written_as_the_service_writes_them() {
    let whole = 9_007_199_254_740_991.0;
    let texts = [-0.0, 3.0, -1.5, whole, 0.1 + 0.2].map(|number| text(&Json::Number(number)));
    assert_eq!(texts, ["0", "3", "-1.5", "9007199254740991", "0.30000000000000004"]);
}

#[test]
fn properties_keep_their_order_and_the_last_of_a_name_counts() {
    let value =
        Json::parse(br#"{"b": 1, "a": [1.0, "\u00e9", null, true], "b": {"c": 2}}"#).unwrap();
    assert_eq!(text(&value), r#"{"b":1,"a":[1,"é",null,true],"b":{"c":2}}"#);
    assert_eq!(value.get("b").map(text), Some(r#"{"c":2}"#.into()));
}

#[test]
fn what_is_not_asked_for_is_skipped() {
    let body = br#"{"a":{"deep":[1,{"x":"}"}]},"n":2,"t":"x\\","q\"":[{}]}"#;
    let value = Json::parse_only(body, &["n", "q\"", "nope"]).unwrap();
    assert_eq!(text(&value), r#"{"n":2,"q\"":[{}]}"#);
    assert_eq!(text(&Json::parse_only(body, &[]).unwrap()), "{}");
    let mut broken = vec!["{\"n\":1} x", "{\"n\":nul}", "{\"n\":1}}", "[1]", "1", "{\"\\x\":1}"];
    let body = str::from_utf8(body).unwrap();
    broken.extend((0..body.len()).map(|end| &body[..end]));
    for broken in broken {
        let refused = Json::parse_only(broken.as_bytes(), &["n"]);
        assert_eq!(refused.unwrap_err().status, 400, "{broken}");
    }
}

proptest! {
    #[test]
    fn the_properties_that_are_read_are_those_of_the_whole(properties in prop::collection::vec((r#"[ab"\\]{1,2}"#, values()), 0..5)) {
        let named = |(name, value): (String, Json)| (Box::from(name), value);
        let whole = Json::Object(properties.into_iter().map(named).collect());
        let names = ["a", "b\"", "\\a"];
        let Json::Object(all) = &whole else { return Ok(()) };
        let wanted = all.iter().filter(|(name, _)| names.contains(&&**name)).cloned().collect();
        prop_assert_eq!(Json::parse_only(text(&whole).as_bytes(), &names), Ok(Json::Object(wanted)));
    }
}

#[test]
fn what_is_no_json_is_refused() {
    let deep = |levels| "[".repeat(levels) + &"]".repeat(levels);
    assert!(Json::parse(deep(127).as_bytes()).is_ok());
    for broken in ["", "{", "nul", "[1,]", "1e999", "\"\\ud800\"", &deep(129), &deep(100_000)] {
        assert_eq!(Json::parse(broken.as_bytes()).unwrap_err().status, 400);
    }
    let deep_binary = (0..200).fold(vec![0x01], |inner, _| {
        let length = u16::try_from(inner.len()).unwrap().to_le_bytes();
        [&[0xe6], &length[..], &[1, 0], &inner].concat()
    });
    assert_eq!(Json::parse(&[&[0x80], &deep_binary[..]].concat()).unwrap_err().status, 400);
}

/// The forms that the Rust SDK writes. The messages are those of its vectors (`testdata/binary_json_vectors.json`).
#[test]
fn binary_json_is_read() {
    for (message, expected) in [
        ("d0", "null"),
        ("d1", "false"),
        ("1f", "31"),
        ("c7ffffffffffffffff", "1.8446744073709552e+19"),
        ("cb000efad5feffffff", "-5000000000"),
        ("cc0000000000000c40", "3.5"),
        ("80", "\"\""),
        ("826869", "\"hi\""),
        ("c00568656c6c6f", "\"hello\""),
        ("c20500000068656c6c6f", "\"hello\""),
        ("e503030001d0", "[0,1,null]"),
        ("ed080282696400826869d2", "{\"id\":0,\"hi\":true}"),
        ("ef080000000200000082696400826869d2", "{\"id\":0,\"hi\":true}"),
    ] {
        let bytes = [vec![0x80], crate::engine::unhex(message).unwrap()].concat();
        let read = Json::parse(&bytes).map(|value| text(&value));
        assert_eq!(read, Ok(expected.to_owned()), "{message}");
        for end in 1..bytes.len() {
            assert!(Json::parse(&bytes[..end]).is_err(), "{message} to {end}");
        }
    }
}

proptest! {
    #[test]
    fn a_value_comes_back_from_its_text(value in values()) {
        let written = text(&value);
        prop_assert_eq!(&Json::parse(written.as_bytes()).unwrap(), &value, "{}", written);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        markers in prop::collection::vec(
            prop_oneof![0x80..=0x84_u8, 0xc0..=0xef_u8, 0..8_u8], 0..40,
        ),
    ) {
        for bytes in [bytes, markers] {
            let _ = Json::parse(&bytes);
            let _ = Json::parse(&[&[0x80], bytes.as_slice()].concat());
        }
    }
}
