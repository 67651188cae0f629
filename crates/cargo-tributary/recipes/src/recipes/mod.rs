//! Recipes of users, behind an API that is not the framework's own: other envelopes, errors, sign-in and paging.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `users` | a user | the user, with the names of those whom the user follows |
//! | | a key such as `email:ann@example.com` | the claim of an address or a name |
//! | `recipes` | a recipe | the recipe, or its tombstone; its favorites, which the recipe counts |
//! | `cards` | `recipes` | a card of each recipe, by the change feed |
//! | `tag-counts` | a tag | the number of its recipes, by the change feed |

mod errors;
mod functions;
pub mod model;
pub mod passwords;
mod projections;
pub mod tokens;

use std::{convert::Infallible, sync::Arc};

use tributary_functions::{
    engines::unique_claim::{UniqueValue, ValueReservation, claim},
    prelude::*,
};

pub use self::{
    errors::Errors,
    projections::{RecipeCards, TagCounts},
    tokens::{Tokens, sign_in},
};
use self::{
    model::{Claim, Favorite, Recipe, RecipesItem, Slug, User, Username, UsersItem},
    passwords::Passwords,
};

/// The containers and what else the handlers share. Cloning is cheap.
#[derive(Clone)]
pub struct Stores {
    users: Container,
    recipes: Container,
    cards: Container,
    tag_counts: Container,
    favorites: CountedChildren<RecipeFamily>,
    passwords: Passwords,
    tokens: Tokens,
}

impl Stores {
    fn new(context: &Context<'_>) -> Result<Self, ConfigError> {
        let [users, recipes, cards, tag_counts] =
            ["users", "recipes", "cards", "tag-counts"].map(|id| context.cosmos.container(id));
        let favorites = CountedChildren::new(recipes.clone());
        let (passwords, tokens) = (Passwords::default(), Tokens::new(context.settings)?);
        Ok(Self { users, recipes, cards, tag_counts, favorites, passwords, tokens })
    }

    async fn user(&self, name: &Username) -> Result<Stored<User>, ApiError> {
        self.users.item(name, name).await?.ok_or(ApiError::NotFound("user"))
    }

    async fn recipe(&self, slug: &Slug) -> Result<Stored<Recipe>, ApiError> {
        self.recipes.item(slug, slug).await?.ok_or(ApiError::NotFound("recipe"))
    }

    /// Claims values for a user, and writes the user over the state with the ETag `read`. Then releases the
    /// `former` values.
    async fn claim(
        &self,
        mut user: User,
        keys: &[String],
        former: &[(String, ETag)],
        read: Option<&ETag>,
    ) -> Result<Stored<User>, ApiError> {
        let owner = user.username.clone();
        let with_claims = |claims: &[ETag]| {
            user.claims.retain(|key, _| former.iter().all(|(former, _)| former != key));
            user.claims.extend(keys.iter().cloned().zip(claims.iter().map(ToString::to_string)));
            user
        };
        let written = claim(self, &owner, (keys, former), with_claims, read).await?;
        written.ok_or(TAKEN)
    }
}

const TAKEN: ApiError =
    ApiError::Conflict("Another user has this name or this e-mail address. Choose another one.");

impl UniqueValue for Stores {
    const ID: &'static str = "claim";
    type Item = UsersItem;
    type Owner = Username;

    fn container(&self) -> &Container {
        &self.users
    }

    fn item(key: &str, reserved: &ValueReservation<Username>) -> UsersItem {
        let ValueReservation { owner, since } = reserved.clone();
        let id = Self::ID.to_owned();
        Claim { id, username: key.to_owned(), owner, since, ttl: None }.into()
    }

    fn reserved(item: &UsersItem) -> Option<ValueReservation<Username>> {
        let UsersItem::Claim(Claim { owner, since, .. }) = item else { return None };
        Some(ValueReservation { owner: owner.clone(), since: *since })
    }

    fn reservation<'a>(item: &'a UsersItem, key: &str) -> Option<&'a str> {
        let UsersItem::User(user) = item else { return None };
        user.claims.get(key).map(String::as_str)
    }

    fn no_owner(owner: &Username) -> UsersItem {
        let [id, username] = [owner; 2].map(ToString::to_string);
        Claim { id, username, owner: owner.clone(), since: None, ttl: Some(24 * 60 * 60) }.into()
    }
}

/// A recipe with its favorites. One that was removed can come again, and no copy of it exists: it leaves no
/// tombstone.
struct RecipeFamily;

impl Family for RecipeFamily {
    const PARENT: &'static str = "recipe";
    const CHILD: &'static str = "favorite";
    type Key = Slug;
    type Item = RecipesItem;
    type Parent = Recipe;
    type Child = Favorite;
    type ChildId = String;
    type Edit = Infallible;
    type Refused = Infallible;

    fn child_item(favorite: &Favorite, _: &Recipe) -> RecipesItem {
        favorite.clone().into()
    }

    fn child_id(favorite: &Favorite) -> String {
        favorite.id.clone()
    }

    fn after(recipe: &Recipe, changes: &Changes<'_, Self>) -> Recipe {
        recipe.with_favorites(changes.count(recipe.card.favorites_count, |_| true))
    }
}

/// Returns the recipes as a domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let stores = Stores::new(context)?;
    let Stores { users, recipes, cards, tag_counts, .. } = stores.clone();
    Ok(Domain {
        http_functions: bind(functions::all(), &stores),
        projections: vec![
            Arc::new(CopyProjection::<RecipeCards>::new(&recipes, &cards)),
            Arc::new(AggregateProjection::<TagCounts>::new(&recipes, &tag_counts)),
        ],
        containers: vec![users, recipes, cards, tag_counts],
        ..Domain::new("recipes")
    })
}
