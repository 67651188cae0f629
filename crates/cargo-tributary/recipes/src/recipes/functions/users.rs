//! Users: registration, login, and the user of a token.

use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

use super::name_of;
use crate::recipes::{
    Stores, TAKEN, User, Username,
    model::{Bio, Claim, Credentials, Email, Image, InUser, NewUser, UserEdit},
    tokens::token_of,
};

/// The answer about the caller: `{"user": …}`.
#[derive(Serialize, JsonSchema)]
pub(super) struct UserBody {
    user: SignedInUser,
}

#[derive(Serialize, JsonSchema)]
struct SignedInUser {
    username: Username,
    email: Email,
    bio: Option<Bio>,
    image: Option<Image>,
    #[schemars(example = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl")]
    token: String,
}

impl UserBody {
    fn new(user: User, token: impl Into<String>) -> Self {
        let User { username, email, bio, image, .. } = user;
        Self { user: SignedInUser { username, email, bio, image, token: token.into() } }
    }
}

/// Claims the name and the address, and creates the user: four store requests.
pub(super) async fn register(
    State(stores): State<Stores>,
    command: CommandId,
    JsonBody(InUser(new)): JsonBody<InUser<NewUser>>,
) -> Result<ItemResponse<UserBody>, ApiError> {
    let NewUser { username, email, password } = new;
    let password = stores.passwords.hash(password).await?;
    let keys = [username.key(), email.key()];
    let user = User::new(username, email, password, &command);
    let name = &user.username;
    let Stored { item, etag } = retry(async |_| {
        let fence = match stores.users.slot::<User>(name, name).await? {
            // By an earlier attempt, whose answer was lost.
            ItemSlot::Live(known) if known.item.created_by == command => return Ok(known),
            ItemSlot::Live(_) => return Err(TAKEN),
            ItemSlot::Deleted(fence) => Some(fence.etag),
            ItemSlot::Empty => None,
        };
        stores.claim(user.clone(), &keys, &[], fence.as_ref()).await
    })
    .await?;
    let token = stores.tokens.issue(name)?;
    Ok(http::created(&format!("/api/profiles/{name}"), &UserBody::new(item, token), &etag))
}

/// Compares the password with the hash of the user that has the address: two point reads.
pub(super) async fn login(
    State(stores): State<Stores>,
    JsonBody(InUser(given)): JsonBody<InUser<Credentials>>,
) -> Result<Json<UserBody>, ApiError> {
    let key = given.email.key();
    let claim: Option<Stored<Claim>> = stores.users.item(&key, Claim::ID).await?;
    let user: Option<Stored<User>> = match claim {
        Some(Stored { item: Claim { owner, .. }, .. }) => stores.users.item(&owner, &owner).await?,
        None => None,
    };
    // A claim may be left behind by its former owner.
    let user = user.map(|user| user.item).filter(|user| user.claims.contains_key(&key));
    let known = user.as_ref().map(|user| user.password.clone());
    let is_right = stores.passwords.is_hash_of(known, given.password).await?;
    let user = user.filter(|_| is_right);
    let user = user.ok_or(ApiError::Unauthorized("The e-mail address or the password is wrong."))?;
    let token = stores.tokens.issue(&user.username)?;
    Ok(Json(UserBody::new(user, token)))
}

/// Returns the user of the token, with the same token.
pub(super) async fn get_user(
    State(stores): State<Stores>,
    actor: Actor,
    headers: HeaderMap,
) -> Result<Json<UserBody>, ApiError> {
    let user = stores.user(&name_of(&actor)?).await?;
    Ok(Json(UserBody::new(user.item, token_of(&headers)?.unwrap_or_default())))
}

/// Edits the user of the token: two store requests, and three more for another address.
pub(super) async fn edit_user(
    State(stores): State<Stores>,
    actor: Actor,
    headers: HeaderMap,
    JsonBody(InUser(edit)): JsonBody<InUser<UserEdit>>,
) -> Result<Json<UserBody>, ApiError> {
    let name = name_of(&actor)?;
    let UserEdit { email, password, has_bio, bio, has_image, image } = edit;
    let password = match password {
        Some(password) => Some(stores.passwords.hash(password).await?),
        None => None,
    };
    let edited = retry(async |_| {
        let Stored { item: mut user, etag } = stores.user(&name).await?;
        user.password = password.clone().unwrap_or(user.password);
        user.bio = if has_bio { bio.clone() } else { user.bio };
        user.image = if has_image { image.clone() } else { user.image };
        let former = user.email.key();
        user.email = email.clone().unwrap_or(user.email);
        let key = user.email.key();
        if key == former {
            return Ok(stores.users.save(user, Some(&etag)).await?);
        }
        let claim = ETag::from(user.claims.get(&former).cloned().unwrap_or_default());
        stores.claim(user, &[key], &[(former, claim)], Some(&etag)).await
    });
    let edited = edited.await?.item;
    Ok(Json(UserBody::new(edited, token_of(&headers)?.unwrap_or_default())))
}
