//! Users and recipes as they are stored, and the values in requests.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    http::{Form, FromForm},
    prelude::*,
    values::{Invalid, text_schema},
};

use super::passwords::Password;

checked_text!(
    /// The name of a user, which is also the id: it never changes.
    Username, "ann", id_rule;
    Bio, "I cook for six.", length_rule(1..=1_000);
    /// The address of a picture.
    Image, "https://example.com/ann.png", length_rule(1..=500);
    Slug, "leek-soup-3b6d5a4c", id_rule;
    Title, "Leek soup", length_rule(1..=100);
    Summary, "Warm and cheap.", length_rule(1..=500);
    Steps, "Wash the leeks.", length_rule(1..=10_000);
    Tag, "soup", length_rule(1..=30)
);

/// An e-mail address. Only a letter to it proves one, so the rule is short.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Email(String);

text_schema!(Email, "format": "email", "examples": ["ann@example.com"]);

impl Email {
    pub fn parse(text: String) -> Result<Self, Invalid> {
        let is_good = text.contains('@') && text.len() <= 254;
        is_good.then_some(Self(text)).ok_or_else(|| "must be an e-mail address".into())
    }

    /// Returns the key by which two addresses are the same.
    pub fn key(&self) -> String {
        format!("email:{}", self.0.to_lowercase())
    }
}

impl Username {
    /// Returns the key by which two names are the same: `Ann` and `ann` are one user.
    pub fn key(&self) -> String {
        format!("username:{}", self.as_str().to_lowercase())
    }
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
    /// A registration.
    pub struct NewUser {
        pub username: Username = text("username", Username::parse),
        pub email: Email = text("email", Email::parse),
        pub password: Password = text("password", Password::parse),
    }
);

from_form!(
    /// A login.
    pub struct Credentials {
        pub email: Email = text("email", Email::parse),
        pub password: Password = text("password", Password::parse),
    }
);

from_form!(
    /// An edit. A missing field stays as it is; null removes `bio` and `image`.
    pub struct UserEdit {
        pub email: Option<Email> = optional_text("email", Email::parse),
        pub password: Option<Password> = optional_text("password", Password::parse),
        pub has_bio: bool = has("bio"),
        pub bio: Option<Bio> = optional_text("bio", Bio::parse),
        pub has_image: bool = has("image"),
        pub image: Option<Image> = optional_text("image", Image::parse),
    }
);

from_form!(
    /// A recipe as its cook writes it.
    pub struct RecipeText {
        pub title: Title = text("title", Title::parse),
        pub description: Summary = text("description", Summary::parse),
        pub body: Steps = text("body", Steps::parse),
        pub tag_list: Vec<Tag> = optional_texts("tagList", 0..=10, Tag::parse),
    }
);

/// The envelope of a body about a user.
pub struct InUser<T>(pub T);

impl<T: FromForm> FromForm for InUser<T> {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.object("user").map(Self)
    }
}

/// The envelope of a body about a recipe.
pub struct InRecipe<T>(pub T);

impl<T: FromForm> FromForm for InRecipe<T> {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.object("recipe").map(Self)
    }
}

/// An item of the container `users`.
#[items]
pub enum UsersItem {
    User(User),
    Claim(Claim),
}

#[item(UsersItem, id = username, created_by, tombstone(Claim))]
pub struct User {
    pub id: Username,
    pub username: Username,
    pub email: Email,
    /// The hash of the password.
    pub password: String,
    pub bio: Option<Bio>,
    pub image: Option<Image>,
    /// At most 100 users: the feed names them all in one query.
    pub following: BTreeSet<Username>,
    /// The name and the address, as keys, each with the ETag of its claim.
    pub claims: BTreeMap<String, String>,
}

/// The claim of a name or of an address by its user; or, in the place of a user that was never created, the
/// tombstone that ends its claims.
#[item(UsersItem, partition = username, id = id)]
pub struct Claim {
    pub id: String,
    /// The key of the value. No username has a colon.
    pub username: String,
    pub owner: Username,
    pub since: Option<Timestamp>,
    pub ttl: Option<u32>,
}

/// An item of the container `recipes`.
#[items(partition_key = "slug", sources(Recipe, DeletedRecipe))]
pub enum RecipesItem {
    Recipe(Recipe),
    DeletedRecipe(DeletedRecipe),
    Favorite(Favorite),
}

#[item(RecipesItem, id = slug, version, created_by, tombstone(struct DeletedRecipe { id: Slug, slug: Slug }))]
pub struct Recipe {
    pub id: Slug,
    #[serde(flatten)]
    pub card: Card,
    pub body: Steps,
}

/// A recipe as lists show it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    pub slug: Slug,
    pub title: Title,
    pub description: Summary,
    pub tag_list: Vec<Tag>,
    /// The user whose recipe it is.
    pub cook: Username,
    pub favorites_count: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A recipe is a favorite of a user.
#[item(RecipesItem, partition = slug, id = id)]
pub struct Favorite {
    pub id: String,
    pub slug: Slug,
    pub username: Username,
}

impl Recipe {
    pub fn new(text: RecipeText, cook: Username, command: &CommandId) -> Result<Self, ApiError> {
        let RecipeText { title, description, body, tag_list } = text;
        let slug = Slug::new(&title)?;
        let created_at = Timestamp::now();
        let updated_at = created_at;
        let id = slug.clone();
        let favorites_count = 0;
        let card = Card {
            slug,
            title,
            description,
            tag_list,
            cook,
            favorites_count,
            created_at,
            updated_at,
        };
        Ok(Self::first(id, card, body, command))
    }

    pub fn edited(&self, text: &RecipeText) -> Self {
        let RecipeText { title, description, body, tag_list } = text;
        let mut next = Self { body: body.clone(), ..self.next() };
        next.card.title = title.clone();
        next.card.description = description.clone();
        next.card.tag_list.clone_from(tag_list);
        next.card.updated_at = Timestamp::now();
        next
    }

    pub fn with_favorites(&self, count: u64) -> Self {
        let mut next = self.next();
        next.card.favorites_count = count;
        next
    }
}

impl Favorite {
    pub fn id_of(username: &Username) -> String {
        format!("favorite:{username}")
    }
}
