//! `PUT /customers/{customerId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, ETag, StoreError, Stored, retry},
    engines::{
        command::{Place, Put, Wanted},
        counted_children::{Edition, Request},
    },
    http::{self, Actor, ApiError, Conditions, Form, FromForm, ItemResponse, JsonBody, Params},
    values::{CommandId, Timestamp},
};

use crate::webstore::{
    Customers,
    model::{
        Address, AddressPart, Customer, CustomerDetails, CustomerEdit, CustomerId, CustomerItem,
        EmailAddress, MAX_ADDRESSES, PersonName, PhoneNumber, PublicCustomer,
    },
};

impl FromForm for CustomerDetails {
    fn from_form(form: &mut Form) -> Option<Self> {
        let title = form.optional_text("title", PersonName::parse);
        let first_name = form.text("firstName", PersonName::parse);
        let last_name = form.text("lastName", PersonName::parse);
        let email_address = form.text("emailAddress", EmailAddress::parse);
        let phone_number = form.optional_text("phoneNumber", PhoneNumber::parse);
        let addresses = form.objects("addresses", 0..=MAX_ADDRESSES);
        Some(Self {
            title: title?,
            first_name: first_name?,
            last_name: last_name?,
            email_address: email_address?,
            phone_number: phone_number?,
            addresses: addresses?,
        })
    }
}

impl FromForm for Address {
    fn from_form(form: &mut Form) -> Option<Self> {
        let address_line1 = form.text("addressLine1", AddressPart::parse);
        let address_line2 = form.optional_text("addressLine2", AddressPart::parse);
        let city = form.text("city", AddressPart::parse);
        let state = form.text("state", AddressPart::parse);
        let country = form.text("country", AddressPart::parse);
        let zip_code = form.text("zipCode", AddressPart::parse);
        Some(Self {
            address_line1: address_line1?,
            address_line2: address_line2?,
            city: city?,
            state: state?,
            country: country?,
            zip_code: zip_code?,
        })
    }
}

/// Creates a customer or edits one: two store requests. An edit keeps the count of orders and the
/// password, since it replaces the customer only as it was read.
pub async fn put_customer(
    State(customers): State<Customers>,
    actor: Actor,
    Params(id): Params<CustomerId>,
    conditions: Conditions,
    command: CommandId,
    JsonBody(details): JsonBody<CustomerDetails>,
) -> Result<ItemResponse<PublicCustomer>, ApiError> {
    actor.must_be(id.as_str())?;
    let mut wanted = Customer::new(id, details);
    if !conditions.is_empty() {
        // The condition does not hold any more once the command is carried out.
        wanted.recent.remember([command.clone()], Timestamp::now());
    }
    retry(async |attempt: Attempt| {
        let customers = customers.reading(attempt.reads);
        let place = Place::from(customers.customer(&wanted.public.id).await?);
        match place.put(&command, attempt, &wanted) {
            Put::Created(stored) => Ok(created(&stored.item.public, &stored.etag)),
            Put::Edited(stored) => Ok(edited(&stored.item.public, &stored.etag)),
            Put::Edit(stored) => {
                conditions.check(Some(&stored.etag))?;
                let if_match = Some(stored.etag.clone()).filter(|_| conditions.name_a_state());
                let request = Request::new(&command, attempt.reads).if_match(if_match);
                edit(&customers, stored, &wanted.public.details, request).await
            }
            Put::Create(_) => {
                conditions.check(None)?;
                create(&customers, &wanted).await
            }
        }
    })
    .await
}

impl Wanted<Self> for Customer {
    fn has_created(&self, customer: &Self) -> bool {
        customer.public.creation_date == self.public.creation_date
    }

    fn is(&self, customer: &Self) -> bool {
        customer.public == self.public
    }
}

async fn create(
    customers: &Customers,
    customer: &Customer,
) -> Result<ItemResponse<PublicCustomer>, ApiError> {
    let id = customer.public.id.as_str();
    let item = CustomerItem::Customer(Box::new(customer.clone()));
    let etag = customers.customers.create(id, id, &item).await?;
    Ok(created(&customer.public, &etag))
}

/// Edits a customer in its turn among the orders, and does not compete with them.
async fn edit(
    customers: &Customers,
    stored: Stored<Customer>,
    details: &CustomerDetails,
    request: Request<'_, Customer>,
) -> Result<ItemResponse<PublicCustomer>, ApiError> {
    let public = &stored.item.public;
    if public.details == *details {
        customers.reads.confirmed()?;
        return Ok(edited(public, &stored.etag));
    }
    let (id, edit) = (public.id.clone(), CustomerEdit::Details(Box::new(details.clone())));
    match customers.orders.edit(&id, edit, request.seen(stored)).await? {
        Edition::Edited(stored) => Ok(edited(&stored.item.public, &stored.etag)),
        // Deleted by hand meanwhile: to be decided anew.
        Edition::NoParent => Err(StoreError::race(false).into()),
    }
}

fn created(customer: &PublicCustomer, etag: &ETag) -> ItemResponse<PublicCustomer> {
    http::created(&format!("/api/customers/{}", customer.id), customer, etag)
}

fn edited(customer: &PublicCustomer, etag: &ETag) -> ItemResponse<PublicCustomer> {
    http::item(StatusCode::OK, customer, etag)
}
