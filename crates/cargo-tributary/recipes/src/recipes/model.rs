//! Users, recipes and cards as they are stored, and the values in requests.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::unique_claim::ValueReservation,
    prelude::*,
    values::{Invalid, text_schema},
};

use super::passwords::Password;

checked_text!(
    /// The name of a user, which is also the id: it never changes.
    Username, "ann", id_rule;

    /// A few sentences about a user.
    Bio, "I cook for six.", length_rule(1..=1_000);

    /// The address of a picture.
    Image, "https://example.com/ann.png", length_rule(1..=500);

    /// The name of a recipe in paths ([`Slug::new`]).
    Slug, "leek-soup-3b6d5a4c", id_rule;

    /// The title of a recipe.
    Title, "Leek soup", length_rule(1..=100);

    /// What a list shows of a recipe.
    Summary, "Warm and cheap.", length_rule(1..=500);

    /// How to cook it.
    Steps, "Wash the leeks.", length_rule(1..=10_000);

    /// A tag of recipes.
    Tag, "soup", length_rule(1..=30)
);

/// An e-mail address. Only a letter to it proves one, so the rule is short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Email(String);

text_schema!(Email, "format": "email", "examples": ["ann@example.com"]);

impl Email {
    pub fn parse(text: String) -> Result<Self, Invalid> {
        let is_good = text.len() <= 254 && text.contains('@') && !text.contains(char::is_whitespace);
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
    /// `user` in the body of a registration.
    pub struct NewUser {
        pub username: Username = text("username", Username::parse),
        pub email: Email = text("email", Email::parse),
        pub password: Password = text("password", Password::parse),
    }
);

from_form!(
    /// `user` in the body of a login.
    pub struct Credentials {
        pub email: Email = text("email", Email::parse),
        pub password: Password = text("password", Password::parse),
    }
);

from_form!(
    /// `user` in the body of an edit. A missing field stays as it is; null removes `bio` and `image`.
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
    /// `recipe` in the body of a creation.
    pub struct NewRecipe {
        pub title: Title = text("title", Title::parse),
        pub description: Summary = text("description", Summary::parse),
        pub body: Steps = text("body", Steps::parse),
        pub tag_list: Vec<Tag> = optional_texts("tagList", 0..=10, Tag::parse),
    }
);

from_form!(
    /// `recipe` in the body of an edit. A missing field stays as it is.
    pub struct RecipeEdit {
        pub title: Option<Title> = optional_text("title", Title::parse),
        pub description: Option<Summary> = optional_text("description", Summary::parse),
        pub body: Option<Steps> = optional_text("body", Steps::parse),
        pub has_tag_list: bool = has("tagList"),
        pub tag_list: Vec<Tag> = optional_texts("tagList", 0..=10, Tag::parse),
    }
);

/// The envelope of a body about a user.
pub struct InUser<T>(pub T);

impl<T: http::FromForm> http::FromForm for InUser<T> {
    fn from_form(form: &mut http::Form) -> Option<Self> {
        form.object("user").map(Self)
    }
}

/// The envelope of a body about a recipe.
pub struct InRecipe<T>(pub T);

impl<T: http::FromForm> http::FromForm for InRecipe<T> {
    fn from_form(form: &mut http::Form) -> Option<Self> {
        form.object("recipe").map(Self)
    }
}

/// An item of the container `users`.
#[items]
pub enum UsersItem {
    User(User),
    NoUser(NoUser),
    Claim(Claim),
}

#[item(UsersItem, id = username, created_by, tombstone(NoUser))]
pub struct User {
    pub id: Username,
    pub username: Username,
    pub email: Email,
    /// The hash of the password.
    pub password: String,
    pub bio: Option<Bio>,
    pub image: Option<Image>,
    /// The users whom this one follows: at most [`User::MAX_FOLLOWED`].
    pub following: BTreeSet<Username>,
    /// The name and the address, as keys, each with the ETag of its claim.
    pub claims: BTreeMap<String, String>,
}

/// The tombstone of a user that was never created, but had claimed a value that another one claims now.
#[item(UsersItem, id = username)]
pub struct NoUser {
    id: Username,
    username: Username,
    ttl: u32,
}

/// The claim of a name or of an address by its user.
#[item(UsersItem, partition = username, id = id)]
pub struct Claim {
    id: String,
    /// The key of the value, which is the partition key. No username has a colon.
    username: String,
    pub owner: Username,
    pub since: Option<Timestamp>,
}

impl User {
    /// The most users that one follows: the feed names them all in one query.
    pub const MAX_FOLLOWED: usize = 100;

    pub fn new(username: Username, email: Email, password: String, command: &CommandId) -> Self {
        Self {
            id: username.clone(),
            username,
            email,
            password,
            bio: None,
            image: None,
            following: BTreeSet::new(),
            claims: BTreeMap::new(),
            created_by: command.clone(),
            recent: RecentCommands::default(),
        }
    }
}

impl NoUser {
    pub fn new(username: &Username) -> Self {
        Self { id: username.clone(), username: username.clone(), ttl: 24 * 60 * 60 }
    }
}

impl Claim {
    pub const ID: &'static str = "claim";

    pub fn new(key: &str, reserved: &ValueReservation<Username>) -> Self {
        let ValueReservation { owner, since } = reserved.clone();
        Self { id: Self::ID.to_owned(), username: key.to_owned(), owner, since }
    }
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
    pub public: PublicCard,
    pub body: Steps,
}

/// A recipe as lists show it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Card")]
pub struct PublicCard {
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
    id: String,
    slug: Slug,
    pub username: Username,
}

/// An item of the container `cards`.
#[items]
pub enum CardsItem {
    Card(Card),
    DeletedCard(DeletedCard),
}

/// The copy of a recipe in the list of all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Card {
    pub id: Slug,
    pub list: String,
    #[serde(flatten)]
    pub public: PublicCard,
    /// The version of the recipe.
    pub version: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeletedCard {
    pub id: Slug,
    pub list: String,
    pub version: u64,
    pub ttl: u32,
}

impl Recipe {
    pub fn new(new: NewRecipe, cook: Username, command: &CommandId) -> Result<Self, ApiError> {
        let NewRecipe { title, description, body, tag_list } = new;
        let (slug, now) = (Slug::new(&title)?, Timestamp::now());
        let public = PublicCard {
            slug: slug.clone(),
            title,
            description,
            tag_list,
            cook,
            favorites_count: 0,
            created_at: now,
            updated_at: now,
        };
        Ok(Self::first(slug, public, body, command))
    }

    pub fn edited(&self, edit: &RecipeEdit) -> Self {
        let mut next = self.next();
        let RecipeEdit { title, description, body, .. } = edit;
        next.public.title = title.clone().unwrap_or(next.public.title);
        next.public.description = description.clone().unwrap_or(next.public.description);
        next.body = body.clone().unwrap_or(next.body);
        if edit.has_tag_list {
            next.public.tag_list.clone_from(&edit.tag_list);
        }
        next.public.updated_at = Timestamp::now();
        next
    }

    pub fn with_favorites(&self, count: u64) -> Self {
        let mut next = self.next();
        next.public.favorites_count = count;
        next
    }
}

impl Favorite {
    pub fn new(slug: &Slug, username: &Username) -> Self {
        let id = Self::id(username);
        Self { id, slug: slug.clone(), username: username.clone() }
    }

    pub fn id(username: &Username) -> String {
        format!("favorite:{username}")
    }
}
