//! The orders of a customer, which counts them.

use std::convert::Infallible;

use tributary_functions::{engines::counted_children::CHILD_BYTES, prelude::*};

use super::model::{Customer, CustomerEdit, CustomerId, CustomerItem, OrderId, SalesOrder};

/// A customer with its orders. An edit of the customer is part of the same transactions.
pub(super) struct CustomerFamily;

impl Family for CustomerFamily {
    const PARENT: &'static str = "customer";
    const CHILD: &'static str = "order";
    type Key = CustomerId;
    type Item = CustomerItem;
    type Parent = Customer;
    type Child = SalesOrder;
    type ChildId = OrderId;
    type Edit = CustomerEdit;
    type Refused = Infallible;

    fn child_item(order: &SalesOrder, _: &Customer) -> CustomerItem {
        order.clone().into()
    }

    fn child_id(order: &SalesOrder) -> OrderId {
        order.public.id.clone()
    }

    fn after(customer: &Customer, changes: &Changes<'_, Self>) -> Customer {
        let count = changes.count(customer.public.sales_order_count, |_| true);
        let customer = customer.with_order_count(count);
        if let Some(edit) = changes.edit { customer.edited(edit) } else { customer }
    }

    fn is_created_once(_: &OrderId) -> bool {
        true
    }

    fn size(order: &SalesOrder) -> usize {
        CHILD_BYTES * (1 + order.public.items.len())
    }
}
