//! Recipes, each of a cook.

use tributary_functions::prelude::*;

use super::{
    Stores,
    model::{InRecipe, PublicRecipe, Recipe, RecipeText, Slug},
    name_of,
};

type RecipeBody = InRecipe<PublicRecipe>;

/// Creates a recipe: one store request, since no other recipe has its slug.
pub(super) async fn create_recipe(
    State(stores): State<Stores>,
    actor: Actor,
    command: CommandId,
    JsonBody(InRecipe { recipe: text }): JsonBody<InRecipe<RecipeText>>,
) -> Result<ItemResponse<RecipeBody>, ApiError> {
    let recipe = Recipe::new(text, name_of(&actor)?, &command)?;
    let Stored { item, etag } = stores.recipes.create_fresh(recipe).await?;
    let location = format!("/api/recipes/{}", item.id);
    Ok(http::created(&location, &InRecipe { recipe: item.public() }, &etag))
}

pub(super) async fn get_recipe(
    State(stores): State<Stores>,
    Params(slug): Params<Slug>,
) -> Result<Json<RecipeBody>, ApiError> {
    Ok(Json(InRecipe { recipe: stores.recipe(&slug).await?.item.public() }))
}

pub(super) async fn edit_recipe(
    State(stores): State<Stores>,
    actor: Actor,
    Params(slug): Params<Slug>,
    JsonBody(InRecipe { recipe: text }): JsonBody<InRecipe<RecipeText>>,
) -> Result<Json<RecipeBody>, ApiError> {
    let edited = retry(async |_| {
        let Stored { item: recipe, etag } = stores.recipe(&slug).await?;
        actor.must_be(recipe.cook.as_str())?;
        Ok::<_, ApiError>(stores.recipes.save(recipe.edited(text.clone()), Some(&etag)).await?)
    });
    Ok(Json(InRecipe { recipe: edited.await?.item.public() }))
}

pub(super) async fn delete_recipe(
    State(stores): State<Stores>,
    actor: Actor,
    Params(slug): Params<Slug>,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    let tombstone =
        |recipe: &Recipe| actor.must_be(recipe.cook.as_str()).map(|()| recipe.tombstone());
    ItemCommand::from(command).delete_item(&stores.recipes, (&slug, &slug), tombstone).await
}
