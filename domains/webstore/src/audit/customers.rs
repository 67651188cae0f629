//! Checks of customers and orders, and their repairs.

use serde_json::Value;
use tributary_functions::{
    audit::{
        AuditedItem, CheckResult, FindingKind, Obstacle, RepairResult, Slot, Suspect, read_slot,
    },
    cosmos::{Container, StoreError, Stored},
    engines::child_list::{DateRange, SortKey},
    values::Timestamp,
};

use super::WebStoreChecks;
use crate::{
    model::{Customer, CustomerChange, CustomerItem, SalesOrder},
    queries::ORDER_LIST,
};

/// The number of orders that one query of a count reads.
const COUNT_PAGE_ORDERS: u32 = 1_000;

impl WebStoreChecks {
    /// Compares a customer with its orders and its copy in the leaderboard, an order with its customer.
    pub(super) async fn check_customer_item(
        &self,
        item: &AuditedItem,
    ) -> Result<Vec<Suspect>, StoreError> {
        match item.parse() {
            Ok(CustomerItem::Customer(customer)) => {
                let count = self.check_count(*customer, item).await?;
                Ok(count.into_iter().chain(self.leaderboard.check_source(item).await?).collect())
            }
            Ok(CustomerItem::SalesOrder(order)) => {
                Ok(self.check_parent(&order, item).await?.into_iter().collect())
            }
            Err(unreadable) => Ok(unreadable),
        }
    }

    async fn check_count(&self, customer: Customer, item: &AuditedItem) -> CheckResult {
        let id = &customer.public.id.to_string();
        let stated = |customer: &Customer| [customer.public.sales_order_count];
        let count = |_| async { Ok([count_orders(&self.store.customers, id).await?]) };
        let read = || self.store.customers.item(id, id);
        item.check_counts(customer, stated, count, read, |[count]| count.to_string()).await
    }

    async fn check_parent(&self, order: &SalesOrder, item: &AuditedItem) -> CheckResult {
        let id = order.public.customer_id.as_str();
        let parent = read_slot::<CustomerChange>(&self.store.customers, id, id).await?;
        let is_orphan =
            matches!(parent, Slot::Empty | Slot::Item(Stored { item: CustomerChange::Other, .. }));
        let words = (format!("customer {id}"), "none");
        Ok(is_orphan.then(|| item.suspect(FindingKind::ORPHAN, words, &item.etag)))
    }

    /// Writes the number of orders to a customer, under its ETag.
    pub(super) async fn write_count(&self, id: &str) -> RepairResult {
        let customers = self.store.latest_committed().customers;
        let stored = customers.item::<Customer>(id, id).await?.ok_or(Obstacle::Race)?;
        let counted = count_orders(&customers, id).await?;
        customers.save(stored.item.with_order_count(counted), Some(&stored.etag)).await?;
        Ok("wrote the number of orders")
    }
}

/// Counts the orders of a customer, page by page.
async fn count_orders(container: &Container, id: &str) -> Result<u64, StoreError> {
    let all = DateRange::default();
    let mut count = 0;
    let mut after = None;
    loop {
        let page = ORDER_LIST.page::<Value>(container, id, COUNT_PAGE_ORDERS, all, after.as_ref());
        let page: Vec<_> = page.await?.unwrap_or_default().into_iter().flatten().collect();
        count += page.len() as u64;
        let text = |order: &Value, field: &str| order[field].as_str().map(str::to_owned);
        let last = page.last().filter(|_| page.len() >= COUNT_PAGE_ORDERS as usize);
        let key = last.and_then(|order| {
            let date = Timestamp::parse(&text(order, "orderDate")?).ok()?;
            Some(SortKey(date, text(order, "id")?))
        });
        if key.is_none() {
            return Ok(count);
        }
        after = key;
    }
}
