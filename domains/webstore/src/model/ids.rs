//! The ids of the items.

use tributary_functions::values::{self, id_rule};

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
