//! The cards: copies of all recipes in one logical partition, and the lists that read them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tributary_functions::{http::OffsetPage, prelude::*};

use super::{
    Stores,
    model::{PublicRecipe, RecipesItem, User, Username},
    name_of,
};

/// The logical partition of all cards.
const LIST: &str = "recipes";

/// The projection that keeps the cards.
pub struct RecipeCards;

impl Copies for RecipeCards {
    const FUNCTION: &'static str = "RecipeCards";
    type Change = RecipesItem;
    type Copy = Value;

    fn copies_of(change: &RecipesItem) -> Vec<VersionedCopy<Value>> {
        let (id, card) = match change {
            RecipesItem::Recipe(recipe) => (&recipe.id, Some(recipe.public())),
            RecipesItem::DeletedRecipe(deleted) => (&deleted.id, None),
        };
        VersionedCopy::of(change, id, ("list", LIST), card)
    }
}

/// A page of recipes, and the number of all that the filter selects.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecipesBody {
    recipes: Vec<PublicRecipe>,
    recipes_count: u64,
}

list_filter!(
    pub(super) struct RecipeFilter {
        cook: Username, "Recipes of this user.", "ann";
    }
);

/// Returns a page of all recipes, newest first.
pub(super) async fn list_recipes(
    State(stores): State<Stores>,
    page: OffsetPage<RecipeFilter>,
) -> Result<Json<RecipesBody>, ApiError> {
    let (filter, values) = match &page.filter.cook {
        Some(cook) => ("c.cook = @cook", Query::from("").with_parameter("@cook", cook)?),
        // Tombstones have no date.
        None => ("IS_DEFINED(c.createdAt)", Query::from("")),
    };
    read(&stores, &page, filter, values).await
}

/// The time for which a recipe stays in feeds.
const FEED_SPAN: Duration = Duration::from_hours(90 * 24);

/// Returns a page of the recipes of the users whom the caller follows: merged on read, within a span of time, so
/// that a page costs about the same whoever they are.
pub(super) async fn get_feed(
    State(stores): State<Stores>,
    actor: Actor,
    page: OffsetPage,
) -> Result<Json<RecipesBody>, ApiError> {
    let User { following, .. } = stores.user(&name_of(&actor)?).await?.item;
    let filter = "ARRAY_CONTAINS(@cooks, c.cook) AND c.createdAt >= @since";
    let values = Query::from("").with_parameter("@cooks", following)?;
    let values = values.with_parameter("@since", Timestamp::now().before(FEED_SPAN))?;
    read(&stores, &page, filter, values).await
}

async fn read<F>(
    stores: &Stores,
    page: &OffsetPage<F>,
    filter: &str,
    values: Query,
) -> Result<Json<RecipesBody>, ApiError> {
    let list = [PublicRecipe::SELECT, filter, "c.createdAt DESC, c.slug DESC"];
    let (recipes, recipes_count) = page.read(&stores.cards, LIST, list, values).await?;
    Ok(Json(RecipesBody { recipes, recipes_count }))
}
