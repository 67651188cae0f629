//! `GET /reports/top-customers`.

use axum::extract::{RawQuery, State};
use tributary_functions::{
    cosmos::{Query, Scope},
    http::{ApiError, StoredItems, limit_of, parameter_of},
};

use crate::{
    Customers,
    model::{LEADERBOARD_PARTITION, RankedCustomer},
};

/// Returns the customers with the most orders, at most 100; equal counts by id. E-mail addresses, phone
/// numbers and addresses are not part of a report.
///
/// `source=query`, the default, is a fan-out to all partitions of the customers: at least one store
/// request for each physical partition. `source=leaderboard` reads the one partition of the
/// leaderboard, which is as far behind as the change feed.
pub async fn get_top_customers(
    State(customers): State<Customers>,
    RawQuery(query): RawQuery,
) -> Result<StoredItems<RankedCustomer>, ApiError> {
    let limit = limit_of(query.as_deref(), 10)?;
    let source = parameter_of(query.as_deref(), "source")?;
    let (container, scope) = match source.as_deref() {
        None | Some("query") => (&customers.customers, Scope::Container),
        Some("leaderboard") => (&customers.leaderboard, Scope::Partition(LEADERBOARD_PARTITION)),
        Some(_) => {
            return Err(ApiError::invalid("source", "must be `query` or `leaderboard`"));
        }
    };
    // The query reads the fields of `RankedCustomer`, and no private ones.
    let query = Query::from(
        "SELECT TOP @limit c.id, c.customerId, c.title, c.firstName, c.lastName, \
         c.salesOrderCount, c.creationDate FROM c \
         WHERE c.type = 'customer' ORDER BY c.salesOrderCount DESC, c.id ASC",
    );
    let query = query.with_parameter("@limit", limit)?;
    Ok(container.query(query, scope, limit).await?.into())
}
