//! `GET /categories/{categoryId}/products`.

use axum::{Json, extract::State};
use tributary_functions::{
    cosmos::confirm,
    engines::name_list::{NameKey, NameList},
    http::{ApiError, List, PageRequest, Params},
};

use crate::{
    Catalog,
    model::{CategoryId, LabelKind, Name, PublicProduct},
};

/// The list of a category's products.
const PRODUCT_LIST: NameList = NameList {
    key: "categoryId",
    kind: ("type", "product"),
    select: "c.id, c.categoryId, c.categoryName, c.sku, c.name, c.description, c.price, c.tags",
};

/// Returns the products of a category by name: one query in its partition.
///
/// A category in use is never deleted, so its products show that it exists. If the page is empty, the
/// category is read, too.
pub async fn list_products(
    State(catalog): State<Catalog>,
    Params(category_id): Params<CategoryId>,
    page: PageRequest<NameKey<Name>>,
) -> Result<Json<List<PublicProduct>>, ApiError> {
    let key = |product: &PublicProduct| NameKey::new(&product.name, product.id.as_str());
    let list = page.of_names(&PRODUCT_LIST, &catalog.products, category_id.as_str(), key).await?;
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
