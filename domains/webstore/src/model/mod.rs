//! The items and their rules. Pure: no input, no output, nothing of HTTP or of Cosmos DB.

mod customer;
mod ids;
mod leaderboard;
mod money;
mod order;
mod password;
pub mod sizes;

pub use customer::{
    Address, AddressPart, Customer, CustomerDetails, CustomerEdit, CustomerItem, CustomerView,
    EmailAddress, MAX_ADDRESSES, PersonName, PhoneNumber, PublicCustomer,
};
pub use ids::{CategoryId, CustomerId, OrderId, ProductId, TagId};
pub use leaderboard::{
    CustomerChange, LEADERBOARD_PARTITION, LeaderboardItem, RankedCustomer, VersionedCustomer,
};
pub use money::{Money, Price, Quantity};
pub use order::{
    MAX_LINES, NewOrder, NewOrderLine, OrderLine, OrderableItem, OrderedProduct, OrderedProducts,
    PublicOrder, SalesOrder,
};
pub use password::{HashError, Password, PasswordHash};

mod label;
mod product;

pub use label::{DeletedLabel, Label, LabelCopy, LabelId, LabelItem, LabelKind, Name, PublicLabel};
pub use product::{
    DeletedProduct, Description, MAX_TAGS, Product, ProductArrival, ProductDeparture, ProductItem,
    ProductText, PublicProduct, Sku,
};
