//! Users and recipes as they are stored, and the values in requests.

use std::collections::BTreeSet;

use tributary_functions::prelude::*;

use super::passwords::Password;

checked_text!(
    /// The name of a user, which is also the id: it never changes.
    Username, "ann", id_rule;
    Slug, "leek-soup-3b6d5a4c", id_rule;
    Title, "Leek soup", length_rule(1..=100);
    Steps, "Wash the leeks.", length_rule(1..=2_000)
);

impl Slug {
    /// Makes a slug of a title. No other recipe has it, and a new title does not change it, so links stay valid.
    pub fn new(title: &Title) -> Result<Self, ApiError> {
        let id: String = new_id(None, "")?;
        let words: String = slug::slugify(title.as_str()).chars().take(80).collect();
        let text = format!("{words}-{}", &id[id.len() - 8..]);
        Self::parse(text.trim_start_matches('-').to_owned()).map_err(|_| ApiError::Internal)
    }
}

from_form!(
    /// A registration or a login.
    pub struct Credentials {
        pub username: Username = text("username", Username::parse),
        pub password: Password = text("password", Password::parse),
    }
);

from_form!(
    /// A recipe as its cook writes it.
    #[derive(Clone)]
    pub struct RecipeText {
        pub title: Title = text("title", Title::parse),
        pub body: Steps = text("body", Steps::parse),
    }
);

envelopes!(
    /// The envelope of what is about the caller.
    pub InUser { user },
    /// The envelope of what others see of a user.
    pub InProfile { profile },
    /// The envelope of a recipe.
    pub InRecipe { recipe },
);

/// An item of the container `users`.
#[items]
pub enum UsersItem {
    User(User),
}

#[item(UsersItem, id = username, version, created_by)]
pub struct User {
    pub id: Username,
    pub username: Username,
    /// The hash of the password.
    pub password: String,
    /// At most 100 users: the feed names them all in one query.
    pub following: BTreeSet<Username>,
}

/// An item of the container `recipes`.
#[items(partition_key = "slug")]
pub enum RecipesItem {
    Recipe(Recipe),
    DeletedRecipe(DeletedRecipe),
}

#[item(RecipesItem, id = slug, version, created_by, texts(title, body), public(
    struct PublicRecipe { slug, title, body, cook, created_at }
), tombstone(struct DeletedRecipe { id, slug }))]
pub struct Recipe {
    pub id: Slug,
    pub slug: Slug,
    pub title: Title,
    pub body: Steps,
    /// The user whose recipe it is.
    pub cook: Username,
    pub created_at: Timestamp,
}

impl Recipe {
    pub fn new(text: RecipeText, cook: Username, command: &CommandId) -> Result<Self, ApiError> {
        let RecipeText { title, body } = text;
        let slug = Slug::new(&title)?;
        Ok(Self::first(slug.clone(), slug, title, body, cook, Timestamp::now(), command))
    }

    pub fn edited(&self, RecipeText { title, body }: RecipeText) -> Self {
        Self { title, body, ..self.next() }
    }
}
