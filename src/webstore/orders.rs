//! The orders of a customer, which counts them.

use tributary_functions::engines::counted_children::{CHILD_BYTES, Changes, Family};

use super::model::{Customer, CustomerEdit, CustomerId, CustomerItem, OrderId, SalesOrder};

/// The orders of a customer, which counts them.
pub(super) struct Orders;

impl Family for Orders {
    type Key = CustomerId;
    type Item = CustomerItem;
    type Parent = Customer;
    type Child = SalesOrder;
    type ChildId = OrderId;
    type Edit = CustomerEdit;

    fn parent(item: CustomerItem) -> Option<Customer> {
        if let CustomerItem::Customer(customer) = item { Some(*customer) } else { None }
    }

    fn parent_item(customer: Customer) -> CustomerItem {
        CustomerItem::Customer(Box::new(customer))
    }

    fn child(item: CustomerItem) -> Option<SalesOrder> {
        if let CustomerItem::SalesOrder(order) = item { Some(order) } else { None }
    }

    fn child_item(order: &SalesOrder, _: &Customer) -> CustomerItem {
        CustomerItem::SalesOrder(order.clone())
    }

    fn child_id(order: &SalesOrder) -> OrderId {
        order.public.id.clone()
    }

    fn after(customer: &Customer, changes: &Changes<'_, Self>) -> Customer {
        let count = changes.count(customer.public.sales_order_count, |_| true);
        let customer = customer.counted(count);
        if let Some(edit) = changes.edit { customer.with(edit) } else { customer }
    }

    fn is_created_once(_: &OrderId) -> bool {
        true
    }

    fn size(order: &SalesOrder) -> usize {
        CHILD_BYTES * (1 + order.public.items.len())
    }
}
