//! Users: registration, login, the user of a token, profiles, and who follows whom.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{engines::unique_claim::UniqueValue, http::check_confirmed, prelude::*};

use super::name_of;
use crate::recipes::{
    Stores, TAKEN,
    model::{Bio, Claim, Credentials, Email, Image, InUser, NewUser, User, UserEdit, Username},
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
    let user = User {
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
    };
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
    let claim: Option<Stored<Claim>> = stores.users.item(&key, Stores::ID).await?;
    let user: Option<Stored<User>> = match claim {
        Some(Stored { item: Claim { owner, .. }, .. }) => stores.users.item(&owner, &owner).await?,
        None => None,
    };
    // A claim may be left behind by its former owner.
    let user = user.map(|user| user.item).filter(|user| user.claims.contains_key(&key));
    let known = user.as_ref().map(|user| user.password.clone());
    let is_right = stores.passwords.is_hash_of(known, given.password).await?;
    let user = user.filter(|_| is_right);
    let user =
        user.ok_or(ApiError::Unauthorized("The e-mail address or the password is wrong."))?;
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

/// `{"profile": …}`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ProfileBody {
    profile: Profile,
}

#[derive(Serialize, JsonSchema)]
struct Profile {
    username: Username,
    bio: Option<Bio>,
    image: Option<Image>,
    /// True if the caller follows the user.
    following: bool,
}

impl ProfileBody {
    fn new(user: User, following: bool) -> Json<Self> {
        let User { username, bio, image, .. } = user;
        Json(Self { profile: Profile { username, bio, image, following } })
    }
}

/// Returns a profile: one point read, and one more for a caller with a token.
pub(super) async fn get_profile(
    State(stores): State<Stores>,
    caller: Option<Actor>,
    Params(name): Params<Username>,
) -> Result<Json<ProfileBody>, ApiError> {
    let profile = stores.user(&name).await?.item;
    let following = match caller {
        Some(actor) => {
            let me = name_of(&actor)?;
            let me: Option<Stored<User>> = stores.users.item(&me, &me).await?;
            me.is_some_and(|me| me.item.following.contains(&name))
        }
        None => false,
    };
    Ok(ProfileBody::new(profile, following))
}

/// Adds a name to those that the caller follows, or removes it: three store requests.
pub(super) async fn follow<const FOLLOWS: bool>(
    State(stores): State<Stores>,
    actor: Actor,
    Params(name): Params<Username>,
) -> Result<Json<ProfileBody>, ApiError> {
    let profile = stores.user(&name).await?.item;
    let me = name_of(&actor)?;
    retry(async |_| {
        let Stored { item: mut user, etag } = stores.user(&me).await?;
        let is_followed = user.following.contains(&name);
        if is_followed == FOLLOWS {
            // A decision to write nothing is made on the latest state.
            return check_confirmed();
        }
        if FOLLOWS && user.following.len() >= MAX_FOLLOWED {
            return Err(ApiError::Conflict("You follow 100 users. Unfollow one first."));
        }
        user.following.remove(&name);
        user.following.extend(FOLLOWS.then(|| name.clone()));
        stores.users.save(user, Some(&etag)).await?;
        Ok(())
    })
    .await?;
    Ok(ProfileBody::new(profile, FOLLOWS))
}

const MAX_FOLLOWED: usize = 100;
