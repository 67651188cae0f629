//! The ids of the items.

use uuid::Uuid;

use tributary_functions::{
    engines::idempotency::IdempotencyKey,
    values::{self, id_rule},
};

values::checked_text!(
    /// The id of a customer.
    CustomerId, "ann", id_rule;

    /// The id of an order.
    OrderId, "019ae5b2-7c1f-7d2a-9f0e-3b6d5a4c2e10", id_rule;

    /// The id of a category.
    CategoryId, "kitchen", id_rule;

    /// The id of a tag.
    TagId, "new", id_rule;

    /// The id of a product within its category.
    ProductId, "mug", id_rule
);

impl OrderId {
    /// Creates an id for an order without an idempotency key.
    pub fn fresh() -> Self {
        Self(Uuid::now_v7().to_string())
    }

    /// Returns the id for an idempotency key of a customer.
    pub fn from_key(customer_id: &CustomerId, key: &IdempotencyKey) -> Self {
        Self(key.derived_id(&format!("order {customer_id}")))
    }
}
