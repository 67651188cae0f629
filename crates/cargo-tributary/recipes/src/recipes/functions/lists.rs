//! Lists of recipes, by offset and limit, and the tags.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{
    http::{Filter, OffsetPage},
    prelude::*,
    values::Invalid,
};

use super::name_of;
use crate::recipes::{
    Stores,
    model::{Card, Tag, User, Username},
    projections::LIST,
};

/// A page of recipes, and the number of all that the filter selects.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecipesBody {
    recipes: Vec<Card>,
    recipes_count: u64,
}

#[derive(Default, Serialize)]
pub(super) struct RecipeFilter {
    tag: Option<Tag>,
    cook: Option<Username>,
}

impl Filter for RecipeFilter {
    const PARAMETERS: &'static [QueryParameter] = &[
        QueryParameter::new("tag", "Recipes with this tag.").example("soup"),
        QueryParameter::new("cook", "Recipes of this user.").example("ann"),
    ];

    fn set(&mut self, name: &str, value: &str) -> Result<(), ApiError> {
        let bad = |Invalid(rule)| ApiError::invalid(name, rule);
        match name {
            "tag" => self.tag = Some(Tag::parse(value.to_owned()).map_err(bad)?),
            "cook" => self.cook = Some(Username::parse(value.to_owned()).map_err(bad)?),
            _ => {}
        }
        Ok(())
    }
}

/// Returns a page of all recipes, newest first.
pub(super) async fn list_recipes(
    State(stores): State<Stores>,
    page: OffsetPage<RecipeFilter>,
) -> Result<Json<RecipesBody>, ApiError> {
    let RecipeFilter { tag, cook } = &page.filter;
    let mut filter = CARDS.to_owned();
    let mut values = Query::from("");
    if let Some(tag) = tag {
        filter += " AND ARRAY_CONTAINS(c.tagList, @tag)";
        values = values.with_parameter("@tag", tag)?;
    }
    if let Some(cook) = cook {
        filter += " AND c.cook = @cook";
        values = values.with_parameter("@cook", cook)?;
    }
    read(&stores, &page, &filter, values).await
}

/// Tombstones have no date.
const CARDS: &str = "IS_DEFINED(c.createdAt)";

const SHAPE: &str = "c.slug, c.title, c.description, c.tagList, c.cook, c.favoritesCount, \
                     c.createdAt, c.updatedAt";

async fn read<F>(
    stores: &Stores,
    page: &OffsetPage<F>,
    filter: &str,
    values: Query,
) -> Result<Json<RecipesBody>, ApiError> {
    let list = [SHAPE, filter, "c.createdAt DESC, c.slug DESC"];
    let (recipes, recipes_count) = page.read(&stores.cards, LIST, list, values).await?;
    Ok(Json(RecipesBody { recipes, recipes_count }))
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

/// `{"tags": […]}`.
#[derive(Serialize, JsonSchema)]
pub(super) struct TagsBody {
    tags: Vec<Tag>,
}

/// Returns the tags that recipes have: a query of all partitions of a container with few items for each tag.
pub(super) async fn list_tags(State(stores): State<Stores>) -> Result<Json<TagsBody>, ApiError> {
    let query =
        Query::from("SELECT TOP 100 VALUE c.key FROM c WHERE c.id = 'total' AND c['value'] > 0");
    let mut tags: Vec<Tag> = stores.tag_counts.query(query, Scope::Container, 100).await?;
    tags.sort_unstable();
    Ok(Json(TagsBody { tags }))
}
