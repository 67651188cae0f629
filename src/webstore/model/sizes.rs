//! How large the items of an answer can be as JSON, in bytes: what the limits of their fields allow.

use super::{MAX_ADDRESSES, MAX_LINES, MAX_TAGS};

/// The most bytes that JSON takes for one character: a control character is `\u0000`. Others are
/// written in UTF-8, in at most four bytes.
const CHARACTER: usize = 6;
const ID: usize = 128;
const NAME: usize = 200 * CHARACTER;
const SKU: usize = 64 * CHARACTER;
/// Names of the fields, numbers, the date, the comma behind the item.
const REST: usize = 256;
/// The same of an address or a line.
const PART_REST: usize = 96;

pub const LABEL: usize = ID + NAME + REST;
pub const PRODUCT: usize =
    2 * ID + 2 * NAME + SKU + 10_000 * CHARACTER + MAX_TAGS * (ID + NAME + 32) + REST;

const ADDRESS: usize = 6 * NAME + PART_REST;
pub const CUSTOMER: usize =
    2 * ID + 3 * NAME + (254 + 40) * CHARACTER + MAX_ADDRESSES * ADDRESS + REST;
pub const RANKED_CUSTOMER: usize = 2 * ID + 3 * NAME + REST;
const LINE: usize = ID + SKU + NAME + PART_REST;
pub const ORDER: usize = 2 * ID + MAX_LINES * LINE + REST;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{PublicCustomer, PublicOrder, PublicProduct, RankedCustomer};

    fn size<T: serde::de::DeserializeOwned + serde::Serialize>(item: &serde_json::Value) -> usize {
        let item: T = serde_json::from_value(item.clone()).unwrap();
        serde_json::to_vec(&item).unwrap().len()
    }

    #[test]
    fn no_item_is_larger_than_its_bound_and_the_bound_is_close() {
        let (id, date) = ("a".repeat(ID), "2026-11-21T09:25:54.120Z");
        let name = "\u{1}".repeat(200);
        let address = json!({"addressLine1": name, "addressLine2": name, "city": name, "state": name,
            "country": name, "zipCode": name});
        let email = format!("{}@\u{1}", "\u{1}".repeat(252));
        let customer = json!({"id": id, "customerId": id, "title": name, "firstName": name,
            "lastName": name, "emailAddress": email, "phoneNumber": "\u{1}".repeat(40),
            "addresses": vec![address; MAX_ADDRESSES], "salesOrderCount": u64::MAX,
            "creationDate": date});
        let line = json!({"productId": id, "sku": "\u{1}".repeat(64), "name": name,
            "price": 999_999.99, "quantity": 1_000});
        let order = json!({"id": id, "customerId": id, "orderDate": date,
            "items": vec![line; MAX_LINES], "total": 49_999_999_999.99});

        let product = json!({"id": id, "categoryId": id, "categoryName": name,
            "sku": "\u{1}".repeat(64), "name": name, "description": "\u{1}".repeat(10_000),
            "price": 999_999.99, "tags": vec![json!({"id": id, "name": name}); MAX_TAGS]});

        for (size, bound) in [
            (size::<PublicCustomer>(&customer), CUSTOMER),
            (size::<RankedCustomer>(&customer), RANKED_CUSTOMER),
            (size::<PublicOrder>(&order), ORDER),
            (size::<PublicProduct>(&product), PRODUCT),
        ] {
            assert!(size < bound && bound * 96 < size * 100, "{size} of {bound}");
        }
    }
}
