//! Commands of customers and of their passwords.

use tributary_functions::prelude::*;

use crate::{
    WebStore,
    model::{
        Customer, CustomerDetails, CustomerEdit, CustomerId, HashError, Password, PasswordHash,
        PublicCustomer,
    },
};

/// Creates a customer or edits one: two store requests. An edit keeps the count of orders and the
/// password: it goes together with new orders, and replaces only the state that was read.
pub async fn put_customer(
    State(store): State<WebStore>,
    actor: Actor,
    Params(id): Params<CustomerId>,
    command: ItemCommand,
    JsonBody(details): JsonBody<CustomerDetails>,
) -> Result<ItemResponse<PublicCustomer>, ApiError> {
    actor.must_be(id.as_str())?;
    let wanted = command.sign(Customer::new(id, details));
    let id = &wanted.public.id;
    retry(async |attempt: Attempt| {
        let edit = CustomerEdit::Details(Box::new(wanted.public.details.clone()));
        let written = command.put_parent(&store.orders, id, (&wanted, edit), attempt).await?;
        let location = |customer: &Customer| format!("/api/customers/{}", customer.public.id);
        Ok(written.answer(&written.stored.item.public, location))
    })
    .await
}

impl DesiredItem<Self> for Customer {
    fn has_created(&self, customer: &Self) -> bool {
        customer.public.creation_date == self.public.creation_date
    }

    fn matches_new(&self, customer: &Self) -> bool {
        customer.public.creation_date == self.public.creation_date && self.is_satisfied_by(customer)
    }

    fn is_satisfied_by(&self, customer: &Self) -> bool {
        customer.public.details == self.public.details
    }
}

/// Sets the password of a customer: two store requests, and a hash in its turn.
pub async fn put_password(
    State(store): State<WebStore>,
    actor: Actor,
    Params(id): Params<CustomerId>,
    command: ItemCommand,
    JsonBody(password): JsonBody<Password>,
) -> Result<StatusCode, ApiError> {
    actor.must_be(id.as_str())?;
    let hash = store.hashing.run(move || PasswordHash::new(&password)).await.map_err(not_hashed)?;
    let conditions = &command.conditions;
    retry(async |_| {
        let request = if conditions.is_empty() {
            FamilyRequest::new(&command.id)
        } else {
            let stored = store.customers.item::<Customer>(&id, &id).await?;
            let stored = stored.ok_or_else(|| conditions.missing("customer"))?;
            if stored.item.recent.knows(&command.id) {
                return Ok(StatusCode::NO_CONTENT);
            }
            conditions.check(Some(&stored.etag))?;
            command.edit_request(stored)
        };
        let edit = CustomerEdit::Password(hash.clone());
        let edited = store.orders.edit(&id, edit, request).await?;
        edited.map(|_| StatusCode::NO_CONTENT).ok_or_else(|| conditions.missing("customer"))
    })
    .await
}

fn not_hashed(error: HashError) -> ApiError {
    tracing::error!(%error, "A password could not be hashed: no memory, no thread, or a damaged hash");
    ApiError::Internal
}

/// Compares a password with that of a customer: one store request, and a hash in its turn.
///
/// A wrong password, a customer without a password, and a missing customer have the same answer at
/// the same cost: one read and one hash. The read is of the latest committed state, so a replaced
/// password is invalid at once, at every instance.
pub async fn verify_password(
    State(store): State<WebStore>,
    actor: Actor,
    Params(id): Params<CustomerId>,
    JsonBody(password): JsonBody<Password>,
) -> Result<StatusCode, ApiError> {
    actor.must_be(id.as_str())?;
    let stored = store.latest_committed().customers.item::<Customer>(&id, &id).await?;
    let known = stored.and_then(|stored| stored.item.password);
    let compare = move || PasswordHash::matches(known.as_ref(), &password);
    if store.hashing.run(compare).await.map_err(not_hashed)? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(ApiError::Unauthorized("The customer or the password is not right."))
    }
}
