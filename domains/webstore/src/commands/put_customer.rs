//! `PUT /customers/{customerId}`.

use tributary_functions::prelude::*;

use crate::{
    WebStore,
    model::{
        Address, AddressPart, Customer, CustomerDetails, CustomerEdit, CustomerId, EmailAddress,
        MAX_ADDRESSES, PersonName, PhoneNumber, PublicCustomer,
    },
};

from_form!(CustomerDetails {
    title: optional_text("title", PersonName::parse),
    first_name: text("firstName", PersonName::parse),
    last_name: text("lastName", PersonName::parse),
    email_address: text("emailAddress", EmailAddress::parse),
    phone_number: optional_text("phoneNumber", PhoneNumber::parse),
    addresses: objects("addresses", 0..=MAX_ADDRESSES),
});

from_form!(Address {
    address_line1: text("addressLine1", AddressPart::parse),
    address_line2: optional_text("addressLine2", AddressPart::parse),
    city: text("city", AddressPart::parse),
    state: text("state", AddressPart::parse),
    country: text("country", AddressPart::parse),
    zip_code: text("zipCode", AddressPart::parse),
});

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
