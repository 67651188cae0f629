use proptest::prelude::*;

use super::*;

fn text(value: &Json) -> String {
    value.to_string()
}

/// Returns a strategy for values.
pub(crate) fn values() -> impl Strategy<Value = Json> {
    let number = prop_oneof![
        (-5..5_i32).prop_map(f64::from),
        any::<f64>().prop_filter("JSON has no other numbers", |number| number.is_finite()),
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number.prop_map(Json::Number),
        "[abé😀\"]{0,3}".prop_map(|text| Json::text(text.as_str())),
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
    for (number, expected) in [
        (0.0, "0"),
        (-0.0, "0"),
        (3.0, "3"),
        (-1.5, "-1.5"),
        (9_007_199_254_740_991.0, "9007199254740991"),
        (0.1 + 0.2, "0.30000000000000004"),
    ] {
        assert_eq!(text(&Json::Number(number)), expected);
    }
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
    let deep_binary = [&[0x80], vec![0xe1; 100_000].as_slice()].concat();
    assert_eq!(Json::parse(&deep_binary).unwrap_err().status, 400);
}

#[test]
fn a_short_message_does_not_become_a_large_value() {
    // Arrays of 65,535 empty arrays, and references to one text.
    let arrays = [0xf3, 0xf1, 0xda, 0, 0, 0xff, 0xff].repeat(10_000);
    let text = [&[0xc2, 0, 0, 0x10, 0], vec![b'a'; 1 << 20].as_slice()].concat();
    let texts = [text, [0xc3, 6].repeat(1_000)].concat();
    for values in [arrays, texts] {
        let length = u32::try_from(values.len()).unwrap().to_le_bytes();
        let message = [&[0x80, 0xe4], length.as_slice(), &values].concat();
        assert_eq!(Json::parse(&message).unwrap_err().status, 400);
    }
}

/// Each form of a value in binary JSON. The messages are those of the vectors that Microsoft publishes with the Rust
/// driver (`testdata/binary_json_vectors.json`).
#[test]
fn binary_json_is_read_in_all_its_forms() {
    for (message, expected) in [
        ("d0", "null"),
        ("d1", "false"),
        ("1f", "31"),
        ("c8c8", "200"),
        ("c918fc", "-1000"),
        ("ca70110100", "70000"),
        ("cb000efad5feffffff", "-5000000000"),
        ("cc0000000000000c40", "3.5"),
        ("d8fb", "-5"),
        ("dcfeffffff", "4294967294"),
        ("cd0000c03f", "1.5"),
        ("ce00000000000002c0", "-2.25"),
        ("2c", "\"id\""),
        ("3f", "\"_id\""),
        ("80", "\"\""),
        ("826869", "\"hi\""),
        ("c00568656c6c6f", "\"hello\""),
        ("c20500000068656c6c6f", "\"hello\""),
        ("75000102030405060708090a0b0c0d0e0f", "\"00102030-4050-6070-8090-a0b0c0d0e0f0\""),
        ("76000102030405060708090a0b0c0d0e0f", "\"00102030-4050-6070-8090-A0B0C0D0E0F0\""),
        ("7700008421000020000000a6f79aa80000", r#""\"00004812-0000-0200-0000-6a7fa98a0000\"""#),
        ("710100666f6f", "\"Zm9v\""),
        ("710101666f", "\"Zm8=\""),
        ("7101fd41", "\"QQ\""),
        ("7202000066 6f6f626172", "\"Zm9vYmFy\""),
        ("730100fbfffe", "\"-__-\""),
        ("7804a1b2", "\"1a2b\""),
        ("78010f", "\"f\""),
        ("7a0713531c02", "\"2024-01\""),
        ("7e02c834", "\"Hi\""),
        ("7b04301032", "\"0123\""),
        ("7c03612008", "\"abc\""),
        ("7d046140200c", "\"abcd\""),
        ("7f0200c834", "\"Hi\""),
        ("d3000102030405060708090a0b0c0d0e0f", "\"03020100-0504-0706-0809-0a0b0c0d0e0f\""),
        ("dd04deadbeef", "\"3q2+7w==\""),
        ("f0da03010000000200000003000000", "[1,2,3]"),
        ("f1d90300ffff0000e803", "[-1,0,1000]"),
        ("f2f0da0202010000000200000003000000 04000000", "[[1,2],[3,4]]"),
        ("e0", "[]"),
        ("e8", "{}"),
        ("e92cd2", "{\"id\":true}"),
        ("e503030001d0", "[0,1,null]"),
        ("e3030000 01d0", "[0,1,null]"),
        ("ed04022c003b01", "{\"id\":0,\"type\":1}"),
        ("ec040000002c003b01", "{\"id\":0,\"type\":1}"),
        ("e205e100e92c01", "[[0],{\"id\":1}]"),
        ("e205826869c303", "[\"hi\",\"hi\"]"),
        ("e207826869c5030000", "[\"hi\",\"hi\"]"),
    ] {
        let hex = format!("80{}", message.replace(' ', ""));
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap())
            .collect();
        assert_eq!(
            Json::parse(&bytes).map(|value| text(&value)),
            Ok(expected.to_owned()),
            "{message}"
        );
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
        prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), Value::from(value));
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        markers in prop::collection::vec(
            prop_oneof![0x70..=0x7f_u8, 0xc0..=0xff_u8, 0..8_u8], 0..40,
        ),
    ) {
        for bytes in [bytes, markers] {
            let _ = Json::parse(&bytes);
            let _ = Json::parse(&[&[0x80], bytes.as_slice()].concat());
        }
    }
}
