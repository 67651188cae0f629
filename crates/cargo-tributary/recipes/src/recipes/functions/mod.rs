//! The functions over HTTP.

mod lists;
mod recipes;
mod users;

use tributary_functions::{
    http::{
        AuthLevel::{KeylessOwner, KeylessUser, Public},
        Footprint, WorkQueue,
    },
    prelude::*,
};

use super::{Stores, model::Username};

/// The most bytes of a card as JSON, which takes six for a control character.
const CARD_BYTES: usize = (100 + 500 + 10 * 30) * 6 + 3 * 128 + 512;

/// The most bytes of a recipe.
const RECIPE_BYTES: usize = CARD_BYTES + 10_000 * 6;

/// No function has a key: a token says who calls. `Anonymous` and `Public` take callers without one.
#[rustfmt::skip]
pub(super) fn all() -> Vec<HttpFunction<Stores>> {
    let cards  = Footprint::Page { item: CARD_BYTES, limit: 20 };
    let recipe = Footprint::Item(RECIPE_BYTES);
    let hashes = WorkQueue::new(2, 32);
    vec![
        post("Register",       "/api/users",                   Public,       users::register).queued(&hashes),
        post("Login",          "/api/users/login",             Public,       users::login).queued(&hashes),
        get("GetUser",         "/api/user",                    KeylessUser,  users::get_user),
        put("EditUser",        "/api/user",                    KeylessUser,  users::edit_user).queued(&hashes),
        get("GetProfile",      "/api/profiles/{username}",     Anonymous,    users::get_profile),
        post("Follow",         "/api/profiles/{username}/follow", KeylessUser, users::follow::<true>),
        delete("Unfollow",     "/api/profiles/{username}/follow", KeylessUser, users::follow::<false>),
        get("ListRecipes",     "/api/recipes",                 Anonymous,    lists::list_recipes).answers(cards).reads_copies_of(&["RecipeCards"]),
        get("GetFeed",         "/api/recipes/feed",            KeylessUser,  lists::get_feed).answers(cards).reads_copies_of(&["RecipeCards"]),
        get("ListTags",        "/api/tags",                    Anonymous,    lists::list_tags).reads_copies_of(&["TagCounts"]),
        post("CreateRecipe",   "/api/recipes",                 KeylessUser,  recipes::create_recipe),
        get("GetRecipe",       "/api/recipes/{slug}",          Anonymous,    recipes::get_recipe).answers(recipe),
        put("EditRecipe",      "/api/recipes/{slug}",          KeylessOwner, recipes::edit_recipe).answers(recipe),
        delete("DeleteRecipe", "/api/recipes/{slug}",          KeylessOwner, recipes::delete_recipe).answers(recipe),
        post("Favorite",       "/api/recipes/{slug}/favorite", KeylessUser,  recipes::favorite).answers(recipe),
        delete("Unfavorite",   "/api/recipes/{slug}/favorite", KeylessUser,  recipes::unfavorite).answers(recipe),
    ]
}

/// Returns the name of the caller.
fn name_of(actor: &Actor) -> Result<Username, ApiError> {
    let name = actor.user_id().and_then(|id| Username::parse(id.to_owned()).ok());
    name.ok_or(ApiError::Unauthorized("The token names no user. Log in again."))
}
