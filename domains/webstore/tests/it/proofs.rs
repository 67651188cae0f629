//! The names of labels under the proof.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;
use tributary_functions::values::CommandId;
use tributary_testing::proof::{self, Sources, Targets};
use tributary_webstore::{
    WebStore,
    model::{
        CategoryId, Label, LabelItem, LabelKind, Money, Name, Price, Product, ProductId,
        ProductItem, ProductText, Sku,
    },
    projections::{LabelNames, NamesInProducts, ProductsIntegrity},
};

use crate::world::TestApp;

/// Labels, as the commands of the WebStore rename them.
#[derive(Default)]
struct Labels<const TAGS: bool>(HashMap<u8, Label>);

impl<const TAGS: bool> Sources for Labels<TAGS> {
    type App = TestApp;

    const CONTAINER: &'static str = "productMeta";
    const PARTITION_KEY: &'static str = "type";

    fn write(&mut self, source: u8, _owner: u8) -> Value {
        let name = |version| Name::parse(format!("Name {version}")).unwrap();
        let command = CommandId::fresh();
        let kind = if TAGS { LabelKind::Tag } else { LabelKind::Category };
        let label = match self.0.get(&source) {
            Some(label) => label.renamed(name(label.version + 1), &command),
            None => Label::new(kind, format!("l{source}"), name(1), &command),
        };
        self.0.insert(source, label.clone());
        serde_json::to_value(LabelItem::Live(label)).unwrap()
    }
}

struct Products<const TAGS: bool>;

impl<const TAGS: bool> Targets for Products<TAGS> {
    type Sources = Labels<TAGS>;

    const CONTAINER: &'static str = "product";
    const PARTITION_KEY: &'static str = "categoryId";
    const COPIED: &'static [&'static str] =
        if TAGS { &["tags"] } else { &["categoryName", "categoryVersion"] };
    /// The category that the products with a tag have is missing, and comes back.
    const REWRITTEN: &'static [&'static str] =
        if TAGS { &["version", "categoryVersion"] } else { &["version"] };

    fn create(target: u8, source: &Value, tombstone: Option<&Value>) -> Value {
        let LabelItem::Live(label) = serde_json::from_value(source.clone()).unwrap() else {
            panic!("{source}");
        };
        let id = ProductId::parse(format!("p{target}")).unwrap();
        let text = ProductText {
            sku: Sku::parse("SKU".into()).unwrap(),
            name: Name::parse("P".into()).unwrap(),
            description: None,
            price: Price::try_from(Money::from_cents(100)).unwrap(),
            tag_ids: Vec::new(),
        };
        let command = CommandId::fresh();
        let (category, tags) = if TAGS {
            let name = Name::parse("Missing".into()).unwrap();
            let missing = Label::new(LabelKind::Category, "missing".into(), name, &command);
            (missing, vec![label.copy()])
        } else {
            (label, Vec::new())
        };
        let category_id = CategoryId::parse(category.public.id.clone()).unwrap();
        let product = Product::new(id, category_id, &category, &text, tags, &command);
        let tombstone = tombstone.map(|it| serde_json::from_value(it.clone()).unwrap());
        serde_json::to_value(ProductItem::from(product.over(tombstone.as_ref()))).unwrap()
    }

    fn version(target: &Value) -> u64 {
        let version = if TAGS { &target["tags"][0]["version"] } else { &target["categoryVersion"] };
        version.as_u64().unwrap()
    }

    fn edit(target: &Value) -> Option<Value> {
        let ProductItem::Product(mut product) = serde_json::from_value(target.clone()).unwrap()
        else {
            return None;
        };
        product.version += 1;
        product.sku = Sku::parse(format!("SKU {}", product.version)).unwrap();
        Some(serde_json::to_value(ProductItem::Product(product)).unwrap())
    }

    fn tombstone(target: &Value) -> Option<Value> {
        let ProductItem::Product(product) = serde_json::from_value(target.clone()).unwrap() else {
            return None;
        };
        let tombstone = product.deleted(&CommandId::fresh());
        Some(serde_json::to_value(ProductItem::DeletedProduct(tombstone)).unwrap())
    }
}

#[test]
fn names_of_categories_end_as_the_categories_have_them() {
    proves::<false>();
}

#[test]
fn names_of_tags_end_as_the_tags_have_them() {
    proves::<true>();
}

fn proves<const TAGS: bool>() {
    proof::fan_out::<Products<TAGS>>(
        |cosmos, background| {
            let store = WebStore::new(cosmos);
            let names = NamesInProducts(store.latest_committed());
            Arc::new(LabelNames::new(names, &store.labels, &store.products, background))
        },
        |cosmos, _| Arc::new(ProductsIntegrity::new(&WebStore::new(cosmos))),
    )
    .unwrap();
}
