//! Checks of customers and orders, and their repairs.

use futures::{TryStreamExt, future};
use tributary_functions::{
    audit::{
        AuditedItem, CheckResult, CheckResults, FindingKind, Obstacle, RepairResult, Slot,
        read_slot,
    },
    prelude::*,
};

use super::WebStoreChecks;
use crate::model::{Customer, CustomerChange, CustomerItem, SalesOrder};

const COUNT_PAGE_ORDERS: u32 = 1_000;

impl WebStoreChecks {
    /// Compares a customer with its orders and its copy in the leaderboard, an order with its customer.
    pub(super) async fn check_customer_item(
        &self,
        parsed: CustomerItem,
        item: &AuditedItem,
    ) -> CheckResults {
        match parsed {
            CustomerItem::Customer(customer) => {
                let count = self.check_count(*customer, item).await?;
                Ok(count.into_iter().chain(self.leaderboard.check_source(item).await?).collect())
            }
            CustomerItem::SalesOrder(order) => {
                Ok(self.check_parent(&order, item).await?.into_iter().collect())
            }
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

    pub(super) async fn write_count(&self, id: &str) -> RepairResult {
        let customers = self.store.latest_committed().customers;
        let stored = customers.item::<Customer>(id, id).await?.ok_or(Obstacle::Race)?;
        let counted = count_orders(&customers, id).await?;
        customers.save(stored.item.with_order_count(counted), Some(&stored.etag)).await?;
        Ok("wrote the number of orders")
    }
}

/// Counts the orders of a customer, page by page, in the order of an index.
async fn count_orders(container: &Container, id: &str) -> Result<u64, StoreError> {
    let query = Query::from(
        "SELECT VALUE c.id FROM c WHERE c.customerId = @id AND c.type = 'salesOrder' \
         ORDER BY c.customerId DESC, c.type ASC, c.orderDate DESC, c.id DESC",
    );
    let query = query.with_parameter("@id", id)?;
    let pages = container.pages::<String>(query, Scope::Partition(id), COUNT_PAGE_ORDERS).await?;
    pages.try_fold(0, |count, ids| future::ok(count + ids.len() as u64)).await
}
