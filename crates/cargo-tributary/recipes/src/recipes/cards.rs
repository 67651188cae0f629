//! The cards: copies of all recipes in one logical partition, and the lists that read them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tributary_functions::{
    http::{Filter, OffsetPage},
    prelude::*,
    values::Invalid,
};

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
        let (id, version, mut item) = match change {
            RecipesItem::Recipe(recipe) => (&recipe.id, recipe.version, json!(recipe.public())),
            RecipesItem::DeletedRecipe(it) => (&it.id, it.version, json!({"ttl": it.ttl})),
        };
        item["id"] = json!(id);
        item["list"] = json!(LIST);
        item["version"] = json!(version);
        vec![VersionedCopy { partition: LIST.to_owned(), id: id.to_string(), version, item }]
    }
}

/// A page of recipes, and the number of all that the filter selects.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecipesBody {
    recipes: Vec<PublicRecipe>,
    recipes_count: u64,
}

#[derive(Default, Serialize)]
pub(super) struct RecipeFilter {
    cook: Option<Username>,
}

impl Filter for RecipeFilter {
    const PARAMETERS: &'static [QueryParameter] =
        &[QueryParameter::new("cook", "Recipes of this user.").example("ann")];

    fn set(&mut self, name: &str, value: &str) -> Result<(), ApiError> {
        if name == "cook" {
            let bad = |Invalid(rule)| ApiError::invalid(name, rule);
            self.cook = Some(Username::parse(value.to_owned()).map_err(bad)?);
        }
        Ok(())
    }
}

/// Returns a page of all recipes, newest first.
pub(super) async fn list_recipes(
    State(stores): State<Stores>,
    page: OffsetPage<RecipeFilter>,
) -> Result<Json<RecipesBody>, ApiError> {
    let values = Query::from("");
    match &page.filter.cook {
        Some(cook) => {
            read(&stores, &page, "c.cook = @cook", values.with_parameter("@cook", cook)?).await
        }
        // Tombstones have no date.
        None => read(&stores, &page, "IS_DEFINED(c.createdAt)", values).await,
    }
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
