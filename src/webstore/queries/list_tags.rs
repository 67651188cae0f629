//! `GET /tags`.

use axum::{Json, extract::State};

use super::{label, name_key::NameKey};
use crate::{
    http::{ApiError, List, PageRequest},
    webstore::{
        catalog::Catalog,
        model::{LabelKind, PublicLabel},
    },
};

/// All tags by name.
pub async fn list_tags(
    State(catalog): State<Catalog>,
    page: PageRequest<NameKey>,
) -> Result<Json<List<PublicLabel>>, ApiError> {
    label::list(&catalog, LabelKind::Tag, page).await
}
