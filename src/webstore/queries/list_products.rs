//! `GET /categories/{categoryId}/products`.

use axum::{Json, extract::State};
use tributary_functions::{
    cosmos::{Query, Scope, StoreError, confirm},
    http::{ApiError, List, PageRequest, Params},
};

use super::name_key::NameKey;
use crate::webstore::{
    Catalog,
    model::{CategoryId, LabelKind, PublicProduct},
};

/// The products of a category by name: one query in its partition.
///
/// Products prove their category, since a category in use is not deleted. Only where the page is
/// empty, the category is read, too.
pub async fn list_products(
    State(catalog): State<Catalog>,
    Params(category_id): Params<CategoryId>,
    page: PageRequest<NameKey>,
) -> Result<Json<List<PublicProduct>>, ApiError> {
    let scope = Scope::Partition(category_id.as_str());
    let after = page.after.clone();
    let read = async |most| {
        let query = query(&category_id, most, after.as_ref())?;
        catalog.products.query_rows(query, scope, most).await
    };
    let key = |product: &PublicProduct| NameKey::new(&product.name, product.id.as_str());
    let list = page.read(read, key, NameKey::of_row).await?;
    if list.is_empty() {
        let exists = async |reads| {
            let catalog = catalog.reading(reads);
            let category = catalog.live_label(LabelKind::Category, category_id.as_str()).await?;
            category.ok_or(ApiError::NotFound("category"))
        };
        confirm(exists).await?;
    }
    Ok(Json(list))
}

fn query(category_id: &CategoryId, top: u32, after: Option<&NameKey>) -> Result<Query, StoreError> {
    let text = format!(
        "SELECT TOP @top c.id, c.categoryId, c.categoryName, c.sku, c.name, c.description, \
         c.price, c.tags FROM c WHERE c.categoryId = @categoryId AND c.type = 'product' {} \
         ORDER BY c.categoryId ASC, c.type ASC, c.sortName ASC, c.id ASC",
        NameKey::filter(after)
    );
    let query = Query::from(text)
        .with_parameter("@top", top)?
        .with_parameter("@categoryId", category_id)?;
    NameKey::parameters(after, query)
}
