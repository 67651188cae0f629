//! Commands of labels.

use tributary_functions::prelude::*;

use crate::{
    WebStore,
    model::{Label, LabelId, LabelKind, Name, PublicLabel},
};

/// The body: the name of the label.
pub struct LabelName(Name);

from_form!(LabelName(text("name", Name::parse)));

/// Creates or renames a label: two store requests. The change feed brings a new name to the products.
pub async fn put_label<Id: LabelId>(
    State(store): State<WebStore>,
    Params(id): Params<Id>,
    command: ItemCommand,
    JsonBody(LabelName(name)): JsonBody<LabelName>,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    let label = Label::new(Id::KIND, id.as_ref().to_owned(), name, &command.id);
    retry(async |attempt: Attempt| {
        let slot = store.labels.slot::<Label>(Id::KIND, &id).await?;
        let (item, read, is_new) = match command.put(slot, attempt, &label)? {
            PutStep::Done(written) => return Ok(answer(&written)),
            PutStep::Edit(found) => {
                let renamed = found.item.renamed(label.public.name.clone(), &command.id);
                (renamed, Some(found.etag), false)
            }
            PutStep::Create(tombstone) => {
                let (tombstone, etag) = tombstone.map(|it| (it.item, it.etag)).unzip();
                (label.clone().replacing(tombstone.as_ref()), etag, true)
            }
        };
        let stored = store.labels.save(item, read.as_ref()).await?;
        Ok(answer(&WrittenItem { stored, is_new }))
    })
    .await
}

impl DesiredItem<Self> for Label {
    fn is_satisfied_by(&self, label: &Self) -> bool {
        label.public.name == self.public.name
    }
}

fn answer(written: &WrittenItem<Label>) -> ItemResponse<PublicLabel> {
    written.answer(&written.stored.item.public, |Label { kind, public, .. }| match kind {
        LabelKind::Category => format!("/api/categories/{}", public.id),
        LabelKind::Tag => format!("/api/tags/{}", public.id),
    })
}

const MAX_COUNTED_PRODUCTS: u32 = 100;

/// Deletes a label, unless products use it: three store requests.
///
/// A product may be created between the count and the tombstone, or its command may have read the
/// label before. Then the label is restored: `projections/label_names.rs` has the argument.
pub async fn delete_label<Id: LabelId>(
    State(store): State<WebStore>,
    Params(id): Params<Id>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |_| {
        let slot = store.labels.slot::<Label>(Id::KIND, &id).await?;
        let Some(Stored { item, etag }) = command.delete(slot, Id::KIND.as_str())? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        let latest = store.latest_committed();
        let uses = latest.count_uses(Id::KIND, id.as_ref(), MAX_COUNTED_PRODUCTS).await?;
        if uses != Some(0) {
            return Err(ApiError::InUse(in_use(Id::KIND.as_str(), uses)));
        }
        store.labels.save(item.deleted(&command.id), Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

fn in_use(kind: &str, uses: Option<usize>) -> String {
    let number = match uses {
        Some(1) => return format!("1 product uses this {kind}. Move, edit or delete it first."),
        Some(uses) => uses.to_string(),
        None => format!("More than {MAX_COUNTED_PRODUCTS}"),
    };
    format!("{number} products use this {kind}. Move, edit or delete them first.")
}
