//! Recipes of users, behind an API that is not the framework's own: other envelopes, errors, sign-in and paging.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `users` | a user | the user, with the names of those whom the user follows |
//! | `users` | `email:…` | the reservation of an address |
//! | `recipes` | a recipe | the recipe, or its tombstone |
//! | `cards` | `recipes` | a card of each recipe, by the change feed |

mod cards;
mod errors;
pub mod model;
pub mod passwords;
mod recipe;
pub mod tokens;
mod users;

use std::sync::Arc;

use tributary_functions::{
    http::{
        AuthLevel::{KeylessOwner, KeylessUser, Public},
        Footprint, WorkQueue,
    },
    prelude::*,
};

pub use self::{
    cards::RecipeCards,
    errors::Errors,
    tokens::{Tokens, sign_in},
};
use self::{
    cards::{get_feed, list_recipes},
    model::{Recipe, Slug, User, Username},
    passwords::Passwords,
    recipe::{create_recipe, delete_recipe, edit_recipe, get_recipe},
    users::{edit_user, follow, get_profile, get_user, login, register},
};

/// The containers and what else the handlers share. Cloning is cheap.
#[derive(Clone)]
pub struct Stores {
    users: Container,
    recipes: Container,
    cards: Container,
    passwords: Passwords,
    tokens: Tokens,
}

impl Stores {
    async fn user(&self, name: &Username) -> Result<Stored<User>, ApiError> {
        self.users.item(name, name).await?.ok_or(ApiError::NotFound("user"))
    }

    async fn recipe(&self, slug: &Slug) -> Result<Stored<Recipe>, ApiError> {
        self.recipes.item(slug, slug).await?.ok_or(ApiError::NotFound("recipe"))
    }
}

/// Returns the recipes as a domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let [users, recipes, cards] =
        ["users", "recipes", "cards"].map(|id| context.cosmos.container(id));
    let (passwords, tokens) = (Passwords::default(), Tokens::new(context.settings)?);
    let stores = Stores { users, recipes, cards, passwords, tokens };
    let Stores { users, recipes, cards, .. } = stores.clone();
    Ok(Domain {
        http_functions: bind(functions(), &stores),
        projections: vec![Arc::new(CopyProjection::<RecipeCards>::new(&recipes, &cards))],
        audit: Some(Audit::of_unique_values::<User>("AuditUsers", "0 0 3 * * 0", &users)),
        containers: vec![users, recipes, cards],
        ..Domain::new("recipes")
    })
}

/// The most bytes of a recipe as JSON, which takes six for a control character.
const RECIPE_BYTES: usize = (100 + 2_000) * 6 + 2 * 128 + 256;

/// No function has a key: a token says who calls. `Anonymous` and `Public` take callers without one.
#[rustfmt::skip]
fn functions() -> Vec<HttpFunction<Stores>> {
    let page   = Footprint::Page { item: RECIPE_BYTES, limit: 20 };
    let hashes = WorkQueue::new(2, 32);
    vec![
        post("Register",       "/api/users",                      Public,       register)
            .queued(&hashes),
        post("Login",          "/api/users/login",                Public,       login)
            .queued(&hashes),
        get("GetUser",         "/api/user",                       KeylessUser,  get_user),
        put("EditUser",        "/api/user",                       KeylessUser,  edit_user).edits(),
        get("GetProfile",      "/api/profiles/{username}",        Anonymous,    get_profile),
        post("Follow",         "/api/profiles/{username}/follow", KeylessUser,  follow::<true>),
        delete("Unfollow",     "/api/profiles/{username}/follow", KeylessUser,  follow::<false>),
        get("ListRecipes",     "/api/recipes",                    Anonymous,    list_recipes)
            .answers(page).reads_copies_of(&["RecipeCards"]),
        get("GetFeed",         "/api/recipes/feed",               KeylessUser,  get_feed)
            .answers(page).reads_copies_of(&["RecipeCards"]),
        post("CreateRecipe",   "/api/recipes",                    KeylessUser,  create_recipe),
        get("GetRecipe",       "/api/recipes/{slug}",             Anonymous,    get_recipe),
        put("EditRecipe",      "/api/recipes/{slug}",             KeylessOwner, edit_recipe)
            .edits(),
        delete("DeleteRecipe", "/api/recipes/{slug}",             KeylessOwner, delete_recipe),
    ]
}

/// Returns the name of the caller.
fn name_of(actor: &Actor) -> Result<Username, ApiError> {
    let name = actor.user_id().and_then(|id| Username::parse(id.to_owned()).ok());
    name.ok_or(ApiError::Unauthorized("The token names no user. Log in again."))
}
