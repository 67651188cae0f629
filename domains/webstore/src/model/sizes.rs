//! The largest sizes of the items of an answer as JSON, in bytes. The test fills each field up to
//! its limit: JSON takes six bytes for a control character, and fewer for all others.

pub const LABEL_BYTES: usize = 1_584;
pub const PRODUCT_BYTES: usize = 131_296;
pub const CUSTOMER_BYTES: usize = 78_836;
pub const RANKED_CUSTOMER_BYTES: usize = 4_112;
pub const ORDER_BYTES: usize = 90_912;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{
        MAX_ADDRESSES, MAX_LINES, MAX_TAGS, PublicCustomer, PublicLabel, PublicOrder,
        PublicProduct, RankedCustomer,
    };

    fn size<T: serde::de::DeserializeOwned + serde::Serialize>(item: &serde_json::Value) -> usize {
        let item: T = serde_json::from_value(item.clone()).unwrap();
        serde_json::to_vec(&item).unwrap().len()
    }

    #[test]
    fn no_item_is_larger_than_its_bound_and_the_bound_is_close() {
        let text = |length| "\u{1}".repeat(length);
        let (id, name, sku) = ("a".repeat(128), text(200), text(64));
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
            (size::<PublicLabel>(&product), LABEL_BYTES),
            (size::<PublicCustomer>(&customer), CUSTOMER_BYTES),
            (size::<RankedCustomer>(&customer), RANKED_CUSTOMER_BYTES),
            (size::<PublicOrder>(&order), ORDER_BYTES),
            (size::<PublicProduct>(&product), PRODUCT_BYTES),
        ] {
            assert!(size < bound && bound - size < 300.max(bound / 25), "{size} of {bound}");
        }
    }
}
