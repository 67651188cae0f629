//! Customers, and the leaderboard: customers by the number of their orders, in one partition.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    http::from_form,
    projection::{item, items},
    values::{self, Timestamp, check_length, id_rule, length_rule, may_be_rewritten_by_host},
};

use super::{PasswordHash, SalesOrder};

values::checked_text!(
    /// The id of a customer.
    CustomerId, "ann", id_rule;

    /// A title or a part of a name: 1 to 200 characters.
    PersonName, "Ann", length_rule(1..=200);

    /// A part of an address: 1 to 200 characters.
    AddressPart, "Main Street 1", length_rule(1..=200);

    /// A phone number: at most 40 characters.
    PhoneNumber, "+1 555 0100", length_rule(0..=40);

    /// An e-mail address: at most 254 characters with one `@` inside.
    EmailAddress, "ann@example.com", |text| match text.split_once('@') {
        Some((name, host))
            if ![name, host].contains(&"") && !host.contains('@')
                && check_length(&text, 3, 254).is_ok() => Ok(text),
        _ => Err("must be an e-mail address of at most 254 characters, with one '@' inside".into()),
    }
);

pub(super) const MAX_ADDRESSES: usize = 10;

/// The items of the container `customer`, as commands read and write them.
#[items]
pub enum CustomerItem {
    /// A customer, with the hash of the password.
    Customer(Box<Customer>),
    SalesOrder(SalesOrder),
}

/// An item of the container `customer`, read for the fields of `T` only: a type without a password.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum CustomerView<T> {
    Customer(Box<T>),
    #[serde(other)]
    Other,
}

impl<T> CustomerView<T> {
    pub fn customer(self) -> Option<T> {
        match self {
            Self::Customer(customer) => Some(*customer),
            Self::Other => None,
        }
    }
}

/// A customer as it is stored. Answers, copies and findings are made of [`PublicCustomer`], which has
/// no field for a password.
#[item(CustomerItem, id = customer_id, version, recent)]
pub struct Customer {
    #[serde(flatten)]
    pub public: PublicCustomer,
    /// Equal to `creationDate`. Orders are listed by their `orderDate` together with their customer,
    /// and a composite index may leave out items that lack one of its properties.
    order_date: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<PasswordHash>,
}

/// A customer, as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Customer")]
pub struct PublicCustomer {
    /// Chosen by the caller.
    pub id: CustomerId,
    /// The partition key; equal to the id.
    pub customer_id: CustomerId,
    /// The details that the caller writes.
    #[serde(flatten)]
    pub details: CustomerDetails,
    /// The number of orders of the customer.
    pub sales_order_count: u64,
    /// The date of creation.
    pub creation_date: Timestamp,
}

from_form!(
    /// The details of a customer, as the caller writes them.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct CustomerDetails {
        /// Such as `Dr.`
        pub title: Option<PersonName> = optional_text("title", PersonName::parse),
        /// The first name.
        pub first_name: PersonName = text("firstName", PersonName::parse),
        /// The last name.
        pub last_name: PersonName = text("lastName", PersonName::parse),
        /// The e-mail address.
        pub email_address: EmailAddress = text("emailAddress", EmailAddress::parse),
        /// The phone number.
        pub phone_number: Option<PhoneNumber> = optional_text("phoneNumber", PhoneNumber::parse),
        /// At most [`MAX_ADDRESSES`].
        pub addresses: Vec<Address> = objects("addresses", 0..=MAX_ADDRESSES),
    }
);

from_form!(
    /// An address.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct Address {
        /// Street and number.
        pub address_line1: AddressPart = text("addressLine1", AddressPart::parse),
        /// The second line, such as a floor.
        pub address_line2: Option<AddressPart> = optional_text("addressLine2", AddressPart::parse),
        /// The city.
        pub city: AddressPart = text("city", AddressPart::parse),
        /// The state or province.
        pub state: AddressPart = text("state", AddressPart::parse),
        /// The country.
        pub country: AddressPart = text("country", AddressPart::parse),
        /// The postal code.
        pub zip_code: AddressPart = text("zipCode", AddressPart::parse),
    }
);

#[derive(Debug, Clone)]
pub enum CustomerEdit {
    Details(Box<CustomerDetails>),
    Password(PasswordHash),
}

impl Customer {
    pub fn new(id: CustomerId, details: CustomerDetails) -> Self {
        let creation_date = Timestamp::now();
        let customer_id = id.clone();
        let public =
            PublicCustomer { id, customer_id, details, sales_order_count: 0, creation_date };
        Self::first(public, creation_date, None)
    }

    pub fn with_order_count(&self, sales_order_count: u64) -> Self {
        let mut customer = self.next();
        customer.public.sales_order_count = sales_order_count;
        customer
    }

    /// Returns the customer after an edit, in the same version.
    pub fn edited(mut self, edit: &CustomerEdit) -> Self {
        match edit {
            CustomerEdit::Details(details) => self.public.details = (**details).clone(),
            CustomerEdit::Password(hash) => self.password = Some(hash.clone()),
        }
        self
    }
}

pub const LEADERBOARD_PARTITION: &str = "customer";

/// An item of the container `customer`, as the leaderboard reads it: without password, e-mail
/// address, phone number and addresses.
pub type CustomerChange = CustomerView<VersionedCustomer>;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum LeaderboardItem {
    Customer(VersionedCustomer),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionedCustomer {
    #[serde(flatten)]
    pub ranked: RankedCustomer,
    pub version: u64,
}

/// A customer in a report: the fields that are not private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RankedCustomer {
    /// The id.
    pub id: CustomerId,
    /// Equal to the id.
    pub customer_id: CustomerId,
    /// Such as `Dr.`
    pub title: Option<PersonName>,
    /// The first name.
    pub first_name: PersonName,
    /// The last name.
    pub last_name: PersonName,
    /// The number of orders of the customer.
    pub sales_order_count: u64,
    /// The date of creation.
    pub creation_date: Timestamp,
}

impl RankedCustomer {
    /// Returns true if the Functions host may have rewritten a text on its way through a trigger,
    /// so that the customer must be read again before it is copied.
    pub fn may_be_rewritten(&self) -> bool {
        let names = [self.title.as_ref(), Some(&self.first_name), Some(&self.last_name)];
        names.into_iter().flatten().map(PersonName::as_str).any(may_be_rewritten_by_host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_address_has_one_at_sign_inside() {
        let longest = format!("{}@{}", "a".repeat(64), "b".repeat(189));
        for good in ["a@b", "ann@example.com", "änn@exämple", longest.as_str()] {
            assert!(EmailAddress::parse(good.into()).is_ok(), "{good}");
        }
        let too_long = format!("{longest}b");
        for bad in ["", "a", "@", "@b", "a@", "a@b@c", "a@@b", too_long.as_str()] {
            assert!(EmailAddress::parse(bad.into()).is_err(), "{bad}");
        }
    }
}
