//! Recipes and their favorites.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

use super::name_of;
use crate::recipes::{
    Stores,
    model::{Card, Favorite, InRecipe, Recipe, RecipeText, Slug, Steps, Username},
};

/// `{"recipe": …}`.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecipeBody {
    recipe: PublicRecipe,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Recipe")]
struct PublicRecipe {
    #[serde(flatten)]
    card: Card,
    body: Steps,
    /// True if it is a favorite of the caller.
    favorited: bool,
}

impl RecipeBody {
    fn new(recipe: Recipe, favorited: bool) -> Self {
        Self { recipe: PublicRecipe { card: recipe.card, body: recipe.body, favorited } }
    }
}

/// Creates a recipe: one store request, since no other recipe has its slug.
pub(super) async fn create_recipe(
    State(stores): State<Stores>,
    actor: Actor,
    command: CommandId,
    JsonBody(InRecipe(new)): JsonBody<InRecipe<RecipeText>>,
) -> Result<ItemResponse<RecipeBody>, ApiError> {
    let recipe = Recipe::new(new, name_of(&actor)?, &command)?;
    let created = retry(async |attempt: Attempt| {
        if attempt.answer_lost
            && let Some(known) = stores.recipes.item::<Recipe>(&recipe.id, &recipe.id).await?
        {
            return Ok(known);
        }
        Ok::<_, ApiError>(stores.recipes.save(recipe.clone(), None).await?)
    });
    let Stored { item, etag } = created.await?;
    let location = format!("/api/recipes/{}", item.id);
    Ok(http::created(&location, &RecipeBody::new(item, false), &etag))
}

pub(super) async fn get_recipe(
    State(stores): State<Stores>,
    caller: Option<Actor>,
    Params(slug): Params<Slug>,
) -> Result<Json<RecipeBody>, ApiError> {
    let recipe = stores.recipe(&slug).await?.item;
    let favorited = match caller {
        Some(actor) => is_favorite(&stores, &slug, &name_of(&actor)?).await?,
        None => false,
    };
    Ok(Json(RecipeBody::new(recipe, favorited)))
}

async fn is_favorite(stores: &Stores, slug: &Slug, name: &Username) -> Result<bool, StoreError> {
    let favorite = stores.recipes.item::<Favorite>(slug, Favorite::id_of(name)).await?;
    Ok(favorite.is_some())
}

pub(super) async fn edit_recipe(
    State(stores): State<Stores>,
    actor: Actor,
    Params(slug): Params<Slug>,
    JsonBody(InRecipe(edit)): JsonBody<InRecipe<RecipeText>>,
) -> Result<Json<RecipeBody>, ApiError> {
    let recipe = retry(async |_| {
        let Stored { item: recipe, etag } = stores.recipe(&slug).await?;
        actor.must_be(recipe.card.cook.as_str())?;
        Ok::<_, ApiError>(stores.recipes.save(recipe.edited(&edit), Some(&etag)).await?.item)
    });
    let recipe = recipe.await?;
    let favorited = is_favorite(&stores, &slug, &name_of(&actor)?).await?;
    Ok(Json(RecipeBody::new(recipe, favorited)))
}

pub(super) async fn delete_recipe(
    State(stores): State<Stores>,
    actor: Actor,
    Params(slug): Params<Slug>,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    let command = ItemCommand::from(command);
    retry(async |_| {
        let slot = stores.recipes.slot::<Recipe>(&slug, &slug).await?;
        if let Some(recipe) = command.delete(slot, "recipe")? {
            actor.must_be(recipe.item.card.cook.as_str())?;
            stores.recipes.save(recipe.item.deleted(&command.id), Some(&recipe.etag)).await?;
        }
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Makes a recipe a favorite of the caller and counts it, in one transaction. A repeated one changes nothing.
pub(super) async fn favorite(
    State(stores): State<Stores>,
    actor: Actor,
    Params(slug): Params<Slug>,
    command: CommandId,
) -> Result<Json<RecipeBody>, ApiError> {
    let username = name_of(&actor)?;
    let favorite = Favorite { id: Favorite::id_of(&username), slug: slug.clone(), username };
    retry(async |_| {
        let request = FamilyRequest::new(&command);
        match stores.favorites.create(&slug, favorite.clone(), request).await? {
            CreateOutcome::Created(_) | CreateOutcome::Exists(_) => Ok(()),
            CreateOutcome::Deleted => Err(StoreError::race(false).into()),
            CreateOutcome::NoParent => Err(ApiError::NotFound("recipe")),
        }
    })
    .await?;
    Ok(Json(RecipeBody::new(stores.recipe(&slug).await?.item, true)))
}

pub(super) async fn unfavorite(
    State(stores): State<Stores>,
    actor: Actor,
    Params(slug): Params<Slug>,
    command: CommandId,
) -> Result<Json<RecipeBody>, ApiError> {
    let id = Favorite::id_of(&name_of(&actor)?);
    // The id names its user, so the favorite is not read to find that out.
    let of: fn(&Favorite) -> &str = |favorite| favorite.username.as_str();
    let command = ItemCommand::from(command);
    match command.delete_child(&stores.favorites, (&slug, id), &Actor::ANY_USER, of).await {
        Ok(_) | Err(ApiError::NotFound("favorite")) => {}
        Err(error) => return Err(error),
    }
    Ok(Json(RecipeBody::new(stores.recipe(&slug).await?.item, false)))
}
