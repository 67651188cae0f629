//! Users and recipes as they are stored, and the values in requests.

use std::collections::BTreeSet;

use tributary_functions::{engines::unique_claim::Reservation, prelude::*, values::Invalid};

use super::passwords::Password;

checked_text!(
    /// The name of a user, which is also the id: it never changes.
    Username, "ann", id_rule;
    Email, "ann@example.com", email_rule, "format": "email";
    Bio, "I cook.", length_rule(1..=500);
    Slug, "leek-soup-3b6d5a4c", id_rule;
    Title, "Leek soup", length_rule(1..=100);
    Steps, "Wash the leeks.", length_rule(1..=2_000)
);

fn email_rule(text: String) -> Result<String, Invalid> {
    let is_address = text.len() <= 200 && text.contains('@');
    is_address.then_some(text).ok_or("must be an address of at most 200 letters".into())
}

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
    pub struct Registration {
        pub username: Username = text("username", Username::parse),
        pub email: Email = text("email", Email::parse),
        pub password: Password = text("password", Password::parse),
    }
);

from_form!(
    pub struct Login {
        pub email: Email = text("email", Email::parse),
        pub password: Password = text("password", Password::parse),
    }
);

from_form!(
    /// Other values for a user. A missing one stays, and null removes the bio.
    pub struct UserEdit edits User {
        email: Email = text("email", Email::parse),
        bio: Option<Bio> = optional_text("bio", Bio::parse),
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
    pub InUser { user },
    pub InProfile { profile },
    pub InRecipe { recipe },
);

/// An item of the container `users`.
#[items(partition_key = "username", secrets("password"))]
pub enum UsersItem {
    User(User),
    Reservation(Reservation),
}

#[item(UsersItem, id = username, version, created_by, unique(email))]
pub struct User {
    pub id: Username,
    pub username: Username,
    pub email: Email,
    pub bio: Option<Bio>,
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
