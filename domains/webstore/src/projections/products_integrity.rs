//! The invariants of products that commands alone cannot uphold.

use std::collections::{BTreeSet, HashMap};

use futures::future::try_join_all;
use tributary_functions::prelude::*;

use crate::{
    WebStore,
    model::{CategoryId, Label, LabelCopy, LabelKind, Product, ProductId, ProductItem, TagId},
    moves::{self, MoveOutcome},
    state::LabelSlot,
};

/// The projection that compares products with their labels, and ends moves.
///
/// - *Names.* A command reads the name of a label, then a rename updates all products with the label,
///   then the command writes its product with the old name. So this projection compares the names of
///   each new state of a product. If the product was written first, the rename has found it. If the
///   rename came first, this projection finds the new name. Both read the latest committed state.
/// - *Labels in use exist.* [`super::LabelNames`] has the argument.
/// - *Moves.* The move of a departing product is ended (`webstore/moves.rs`).
///
/// A change costs one read of its category and one query of its tags. The changes of a batch share
/// both.
pub struct ProductsIntegrity(WebStore);

impl ProductsIntegrity {
    pub fn new(store: &WebStore) -> Self {
        Self(store.latest_committed())
    }
}

type Labels = HashMap<(LabelKind, String), Label>;

impl Projection for ProductsIntegrity {
    const FUNCTION: &'static str = "ProductsIntegrity";
    const GROUP: usize = 25;
    type Change = ProductItem;

    fn container(&self) -> &Container {
        &self.0.products
    }

    async fn apply(&self, change: &ProductItem) -> Result<Effect, StoreError> {
        let effects = self.apply_all(&[change]).await?;
        Ok(effects.into_iter().next().unwrap_or(Effect::Unchanged))
    }

    async fn apply_all(&self, changes: &[&ProductItem]) -> Result<Vec<Effect>, StoreError> {
        let stays = |product: &&Product| product.departure.is_none();
        let products = changes.iter().filter_map(|change| match change {
            ProductItem::Product(product) => Some(&**product),
            ProductItem::DeletedProduct(_) => None,
        });
        let labels = self.labels(products.filter(stays)).await?;
        let mut effects = Vec::with_capacity(changes.len());
        for change in changes {
            effects.push(match change {
                ProductItem::Product(product) => self.check_product(product, &labels).await?,
                ProductItem::DeletedProduct(_) => Effect::Unchanged,
            });
        }
        Ok(effects)
    }
}

impl ProductsIntegrity {
    /// Ends the move of a departing product; compares the labels of any other product with `labels`.
    async fn check_product(
        &self,
        product: &Product,
        labels: &Labels,
    ) -> Result<Effect, StoreError> {
        let Product { category_id, id, departure, .. } = product;
        if let Some(departure) = departure {
            let outcome = moves::end(&self.0, category_id, id, departure).await?;
            let has_ended = matches!(outcome, MoveOutcome::AlreadyEnded);
            return Ok(if has_ended { Effect::Unchanged } else { Effect::Applied });
        }
        let is_current = |(kind, copy): (LabelKind, LabelCopy)| {
            labels.get(&(kind, copy.id)).is_some_and(|label| label.version <= copy.version)
        };
        if product.labels().all(is_current) {
            return Ok(Effect::Unchanged);
        }
        self.repair(category_id, id).await
    }

    /// Updates the names on a product, in its latest state, and restores its missing labels.
    async fn repair(&self, category_id: &CategoryId, id: &ProductId) -> Result<Effect, StoreError> {
        let Self(store) = self;
        let product = async || store.products.item::<Product>(category_id, id).await;
        let Some(Stored { item: before, etag }) = product().await? else {
            return Ok(Effect::Unchanged);
        };
        let mut labels = Vec::new();
        let mut missing = Vec::new();
        for (kind, copy) in before.labels() {
            match store.labels.slot::<Label>(kind, &copy.id).await? {
                LabelSlot::Live(label) => labels.push(label.item),
                found => missing.push((kind, copy, found)),
            }
        }
        // The product may have lost a tag before the tag was deleted, so it is read again.
        let restores_labels = !missing.is_empty();
        if restores_labels && product().await?.is_none_or(|now| now.etag != etag) {
            return Err(StoreError::race(false));
        }
        for (kind, copy, found) in missing {
            labels.push(store.restore_label(kind, &copy, found).await?);
        }
        let renamed = |product: Product, label| product.with_newer_label(label).unwrap_or(product);
        let product = labels.iter().fold(before.clone(), renamed);
        let has_old_names = product.version > before.version;
        if has_old_names {
            store.products.save(product, Some(&etag)).await?;
        }
        Ok(if has_old_names || restores_labels { Effect::Applied } else { Effect::Unchanged })
    }

    async fn labels(&self, products: impl Iterator<Item = &Product>) -> Result<Labels, StoreError> {
        let mut categories = BTreeSet::new();
        let mut tags = BTreeSet::new();
        for product in products {
            categories.insert(&product.category_id);
            tags.extend(product.tags.iter().filter_map(|tag| TagId::parse(tag.id.clone()).ok()));
        }
        let category =
            |id| async move { self.0.labels.item::<Label>(LabelKind::Category, &id).await };
        let tags: Vec<TagId> = tags.into_iter().collect();
        let (categories, tags) = futures::try_join!(
            try_join_all(categories.into_iter().map(category)),
            self.0.tags(&tags),
        )?;
        let categories = categories.into_iter().flatten().map(|stored| stored.item);
        let key = |label: &Label| (label.kind, label.public.id.clone());
        Ok(categories.chain(tags).map(|label| (key(&label), label)).collect())
    }
}
