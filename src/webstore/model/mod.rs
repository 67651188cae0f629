//! The items and their rules. Pure: no input, no output, nothing of HTTP or of Cosmos DB.

mod ids;
mod money;

pub use ids::{CategoryId, CustomerId, OrderId, ProductId, TagId};
pub use money::{Money, Price, Quantity};

mod label;
mod product;

pub use label::{
    DeletedLabel, Label, LabelCopy, LabelItem, LabelKind, LabelRenaming, Name, PublicLabel,
    TOMBSTONE_TTL_SECONDS,
};
pub use product::{
    Arrival, DeletedProduct, Departure, Description, LABEL_BYTES, MAX_TAGS, PRODUCT_BYTES, Product,
    ProductItem, ProductText, PublicProduct, Sku,
};
