//! Values as bytes whose order is that of ORDER BY.

use std::collections::BTreeMap;

use crate::json::Json;

/// Longer values are cut: among them, those with the same begin have no order.
pub(super) const MAX_VALUE_BYTES: usize = 1024;

/// Appends a value; `None` is undefined.
pub(super) fn write(value: Option<&Json>, to: &mut Vec<u8>) {
    let begin = to.len();
    write_whole(value, to, begin + MAX_VALUE_BYTES);
    to.truncate(begin + MAX_VALUE_BYTES);
}

/// Appends a value, until `end` has been passed. No value begins with the bytes of another one: 0 ends a text, an
/// array, an object, and nothing else has it.
fn write_whole(value: Option<&Json>, to: &mut Vec<u8>, end: usize) {
    let text = |text: &str, to: &mut Vec<u8>| {
        // UTF-8 has no byte above 0xf4.
        to.extend(text.bytes().take(MAX_VALUE_BYTES).map(|byte| byte.wrapping_add(1)));
        to.push(0);
    };
    match value {
        None => to.push(1),
        Some(Json::Null) => to.push(2),
        Some(Json::Bool(false)) => to.push(3),
        Some(Json::Bool(true)) => to.push(4),
        Some(Json::Number(number)) => {
            to.push(5);
            let bits = (number + 0.0).to_bits();
            let ordered = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
            to.extend(ordered.to_be_bytes());
        }
        Some(Json::Text(value)) => {
            to.push(6);
            text(value, to);
        }
        Some(Json::Array(values)) => {
            to.push(7);
            for value in values {
                if to.len() > end {
                    return;
                }
                write_whole(Some(value), to, end);
            }
            to.push(0);
        }
        Some(Json::Object(properties)) => {
            to.push(8);
            // Of two with one name, the last one counts.
            let properties: BTreeMap<_, _> =
                properties.iter().map(|(name, value)| (name, value)).collect();
            for (name, value) in properties {
                if to.len() > end {
                    return;
                }
                to.push(1);
                text(name, to);
                write_whole(Some(value), to, end);
            }
            to.push(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::tests::values;

    proptest! {
        #[test]
        fn the_order_of_the_bytes_is_that_of_order_by(one in prop::option::of(values()), other in prop::option::of(values()), rest: [u8; 2]) {
            let bytes = |value: &Option<Json>, rest| {
                let mut bytes = Vec::new();
                write(value.as_ref(), &mut bytes);
                bytes.push(rest);
                bytes
            };
            let order = one.cmp(&other);
            let found = bytes(&one, rest[0]).cmp(&bytes(&other, rest[1]));
            // What follows decides only between equal values.
            prop_assert_eq!(found, order.then(rest[0].cmp(&rest[1])));
        }
    }
}
