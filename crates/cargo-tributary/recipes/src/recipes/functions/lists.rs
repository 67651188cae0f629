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
    LIST, Stores, Tag, Username,
    model::{PublicCard, User},
};

/// A page of recipes, and the number of all that the filter selects.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecipesBody {
    recipes: Vec<PublicCard>,
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
    let mut cards = CardQuery::default();
    if let Some(tag) = &page.filter.tag {
        cards = cards.and("ARRAY_CONTAINS(c.tagList, @tag)", "@tag", tag)?;
    }
    if let Some(cook) = &page.filter.cook {
        cards = cards.and("c.cook = @cook", "@cook", cook)?;
    }
    cards.read(&stores, &page).await
}

/// Returns a page of the recipes of the users whom the caller follows: merged on read, within a span of time, so
/// that a page costs about the same whoever they are.
pub(super) async fn get_feed(
    State(stores): State<Stores>,
    actor: Actor,
    page: OffsetPage,
) -> Result<Json<RecipesBody>, ApiError> {
    let User { following, .. } = stores.user(&name_of(&actor)?).await?.item;
    if following.is_empty() {
        return Ok(Json(RecipesBody { recipes: Vec::new(), recipes_count: 0 }));
    }
    let cards = CardQuery::default();
    let cards = cards.and("ARRAY_CONTAINS(@cooks, c.cook)", "@cooks", following)?;
    let since = Timestamp::now().before(FEED_SPAN);
    cards.and("c.createdAt >= @since", "@since", since)?.read(&stores, &page).await
}

/// The time for which a recipe stays in feeds.
const FEED_SPAN: Duration = Duration::from_hours(90 * 24);

/// A query of cards: its conditions, and their parameters.
struct CardQuery {
    conditions: String,
    query: Query,
}

impl Default for CardQuery {
    fn default() -> Self {
        Self { conditions: "c.type = 'card'".to_owned(), query: Query::from("") }
    }
}

impl CardQuery {
    fn and(self, condition: &str, name: &str, value: impl Serialize) -> Result<Self, StoreError> {
        let conditions = format!("{} AND {condition}", self.conditions);
        Ok(Self { conditions, query: self.query.with_parameter(name, value)? })
    }

    /// Returns a page and the number of all: two queries of one logical partition.
    async fn read<F>(
        self,
        stores: &Stores,
        page: &OffsetPage<F>,
    ) -> Result<Json<RecipesBody>, ApiError> {
        let Self { conditions, query } = self;
        let count = format!("SELECT VALUE COUNT(1) FROM c WHERE {conditions}");
        let count = query.clone().with_text(count);
        let count: Vec<u64> = stores.cards.query(count, Scope::Partition(LIST), 1).await?;
        let cards = query.with_text(format!(
            "SELECT c.slug, c.title, c.description, c.tagList, c.cook, c.favoritesCount, c.createdAt, c.updatedAt \
             FROM c WHERE {conditions} ORDER BY c.createdAt DESC, c.slug DESC"
        ));
        let recipes = page.read(&stores.cards, LIST, cards).await?;
        Ok(Json(RecipesBody { recipes, recipes_count: count.into_iter().sum() }))
    }
}

/// `{"tags": […]}`.
#[derive(Serialize, JsonSchema)]
pub(super) struct TagsBody {
    tags: Vec<Tag>,
}

/// The most tags of the answer.
const MAX_TAGS: u32 = 20;

/// Returns the tags with the most recipes: a query of all partitions of a container that has an item for each tag.
pub(super) async fn list_tags(State(stores): State<Stores>) -> Result<Json<TagsBody>, ApiError> {
    let query = Query::from(
        "SELECT TOP @most VALUE c.key FROM c WHERE c.id = 'total' AND c[\"value\"] > 0 \
         ORDER BY c[\"value\"] DESC",
    );
    let query = query.with_parameter("@most", MAX_TAGS)?;
    Ok(Json(TagsBody { tags: stores.tag_counts.query(query, Scope::Container, MAX_TAGS).await? }))
}
