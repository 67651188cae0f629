//! The ids of the items.

use uuid::Uuid;

use super::SourceUrl;
use tributary_functions::values::{self, check_id};

values::checked_text!(
    /// The id of a feed provider, such as `reuters`.
    ProviderId,
    "north-wire",
    |text| check_id(&text).map(|()| text)
);

values::checked_text!(
    /// The id of a feed item.
    ItemId,
    "3f1b6a52-9d0c-5b8e-8a63-0d5f7c1e2b94",
    |text| check_id(&text).map(|()| text)
);

impl ItemId {
    /// Returns the id of the item that a provider publishes under an address. So a second post by a
    /// crawler is a post of the same item. Ids of providers contain no space, so different pairs give
    /// different texts.
    pub fn from_source(provider: &ProviderId, source_url: &SourceUrl) -> Self {
        let name = format!("{provider} {source_url}");
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string())
    }
}
