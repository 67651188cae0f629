//! The items of the change feeds, and their sources.

use tributary_functions::projection::{ChangeFeedItem, Origin};

use crate::model::{CustomerChange, LabelItem, ProductItem};

impl ChangeFeedItem for CustomerChange {
    const PARTITION_KEY: &'static str = "customerId";
    const SECRETS: &'static [&'static str] = &["password"];

    fn origin(&self) -> Option<Origin> {
        let Self::Customer(customer) = self else { return None };
        Some(Origin::root(&customer.ranked.id, customer.version))
    }
}

impl ChangeFeedItem for LabelItem {
    const PARTITION_KEY: &'static str = "type";

    fn origin(&self) -> Option<Origin> {
        Some(self.origin())
    }
}

impl ChangeFeedItem for ProductItem {
    const PARTITION_KEY: &'static str = "categoryId";

    fn origin(&self) -> Option<Origin> {
        let (category_id, id, version) = self.key();
        Some(Origin::new(category_id, id, version))
    }
}
