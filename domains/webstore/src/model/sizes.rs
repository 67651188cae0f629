//! The largest sizes of the items of an answer as JSON, in bytes, by the limits of their fields.

use super::{MAX_ADDRESSES, MAX_LINES, MAX_TAGS};

/// The most bytes that JSON takes for one character: a control character is `\u0000`. Others are
/// written in UTF-8, in at most four bytes.
const CHARACTER_BYTES: usize = 6;
const ID_BYTES: usize = 128;
const NAME_BYTES: usize = 200 * CHARACTER_BYTES;
const SKU_BYTES: usize = 64 * CHARACTER_BYTES;
/// The names of the fields, numbers, the date, the comma behind the item.
const REST_BYTES: usize = 256;
/// The names of the fields, numbers and the comma of an address or a line.
const PART_REST_BYTES: usize = 96;

pub const LABEL_BYTES: usize = ID_BYTES + NAME_BYTES + REST_BYTES;
pub const PRODUCT_BYTES: usize = 2 * ID_BYTES
    + 2 * NAME_BYTES
    + SKU_BYTES
    + 10_000 * CHARACTER_BYTES
    + MAX_TAGS * (ID_BYTES + NAME_BYTES + 32)
    + REST_BYTES;

const ADDRESS_BYTES: usize = 6 * NAME_BYTES + PART_REST_BYTES;
pub const CUSTOMER_BYTES: usize = 2 * ID_BYTES
    + 3 * NAME_BYTES
    + (254 + 40) * CHARACTER_BYTES
    + MAX_ADDRESSES * ADDRESS_BYTES
    + REST_BYTES;
pub const RANKED_CUSTOMER_BYTES: usize = 2 * ID_BYTES + 3 * NAME_BYTES + REST_BYTES;
const LINE_BYTES: usize = ID_BYTES + SKU_BYTES + NAME_BYTES + PART_REST_BYTES;
pub const ORDER_BYTES: usize = 2 * ID_BYTES + MAX_LINES * LINE_BYTES + REST_BYTES;

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
        let text = |length| "\u{1}".repeat(length);
        let (id, name, sku) = ("a".repeat(ID_BYTES), text(200), text(64));
        let date = "2026-11-21T09:25:54.120Z";
        let address = json!({"addressLine1": name, "addressLine2": name, "city": name, "state": name,
            "country": name, "zipCode": name});
        let email = format!("{}@\u{1}", text(252));
        let customer = json!({"id": id, "customerId": id, "title": name, "firstName": name,
            "lastName": name, "emailAddress": email, "phoneNumber": text(40),
            "addresses": vec![address; MAX_ADDRESSES], "salesOrderCount": u64::MAX,
            "creationDate": date});
        let line = json!({"productId": id, "sku": sku, "name": name,
            "price": 999_999.99, "quantity": 1_000});
        let order = json!({"id": id, "customerId": id, "orderDate": date,
            "items": vec![line; MAX_LINES], "total": 49_999_999_999.99});
        let product = json!({"id": id, "categoryId": id, "categoryName": name,
            "sku": sku, "name": name, "description": text(10_000),
            "price": 999_999.99, "tags": vec![json!({"id": id, "name": name}); MAX_TAGS]});

        for (size, bound) in [
            (size::<PublicCustomer>(&customer), CUSTOMER_BYTES),
            (size::<RankedCustomer>(&customer), RANKED_CUSTOMER_BYTES),
            (size::<PublicOrder>(&order), ORDER_BYTES),
            (size::<PublicProduct>(&product), PRODUCT_BYTES),
        ] {
            assert!(size < bound && bound * 96 < size * 100, "{size} of {bound}");
        }
    }
}
