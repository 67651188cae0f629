//! Users: registration, login, profiles, and who follows whom.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{http::check_confirmed, prelude::*};

use super::{
    Stores,
    model::{Credentials, InUser, User, Username},
    name_of,
};

/// The answer about the caller: `{"user": …}`.
#[derive(Serialize, JsonSchema)]
pub(super) struct UserBody {
    user: SignedInUser,
}

#[derive(Serialize, JsonSchema)]
struct SignedInUser {
    username: Username,
    #[schemars(example = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl")]
    token: String,
}

impl UserBody {
    fn new(User { username, .. }: User, token: String) -> Self {
        Self { user: SignedInUser { username, token } }
    }
}

/// Creates the user, unless one has the name: two store requests.
pub(super) async fn register(
    State(stores): State<Stores>,
    command: CommandId,
    JsonBody(InUser(Credentials { username: name, password })): JsonBody<InUser>,
) -> Result<ItemResponse<UserBody>, ApiError> {
    let password = stores.passwords.hash(password).await?;
    let user = User::first(name.clone(), name.clone(), password, BTreeSet::new(), &command);
    let Stored { item, etag } = retry(async |_| {
        match stores.users.item::<User>(&name, &name).await? {
            // By an earlier attempt, whose answer was lost.
            Some(known) if known.item.created_by == command => Ok(known),
            Some(_) => Err(ApiError::Conflict("Another user has this name. Choose another one.")),
            None => Ok(stores.users.save(user.clone(), None).await?),
        }
    })
    .await?;
    let token = stores.tokens.issue(&name)?;
    Ok(http::created(&format!("/api/profiles/{name}"), &UserBody::new(item, token), &etag))
}

/// Compares the password with the hash of the user: one point read.
pub(super) async fn login(
    State(stores): State<Stores>,
    JsonBody(InUser(Credentials { username, password })): JsonBody<InUser>,
) -> Result<Json<UserBody>, ApiError> {
    let user = stores.users.item::<User>(&username, &username).await?.map(|user| user.item);
    let known = user.as_ref().map(|user| user.password.clone());
    let is_right = stores.passwords.is_hash_of(known, password).await?;
    let user = user.filter(|_| is_right);
    let user = user.ok_or(ApiError::Unauthorized("The name or the password is wrong."))?;
    Ok(Json(UserBody::new(user, stores.tokens.issue(&username)?)))
}

/// `{"profile": …}`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ProfileBody {
    profile: Profile,
}

#[derive(Serialize, JsonSchema)]
struct Profile {
    username: Username,
    /// True if the caller follows the user.
    following: bool,
}

impl ProfileBody {
    fn new(User { username, .. }: User, following: bool) -> Json<Self> {
        Json(Self { profile: Profile { username, following } })
    }
}

/// Returns a profile: one point read, and one more for a caller with a token.
pub(super) async fn get_profile(
    State(stores): State<Stores>,
    caller: Option<Actor>,
    Params(name): Params<Username>,
) -> Result<Json<ProfileBody>, ApiError> {
    let profile = stores.user(&name).await?.item;
    let Some(actor) = caller else { return Ok(ProfileBody::new(profile, false)) };
    let me = name_of(&actor)?;
    let me: Option<Stored<User>> = stores.users.item(&me, &me).await?;
    let following = me.is_some_and(|me| me.item.following.contains(&name));
    Ok(ProfileBody::new(profile, following))
}

const MAX_FOLLOWED: usize = 100;

/// Adds a name to those that the caller follows, or removes it: three store requests.
pub(super) async fn follow<const FOLLOWS: bool>(
    State(stores): State<Stores>,
    actor: Actor,
    Params(name): Params<Username>,
) -> Result<Json<ProfileBody>, ApiError> {
    let profile = stores.user(&name).await?.item;
    let me = name_of(&actor)?;
    retry(async |_| {
        let Stored { item: user, etag } = stores.user(&me).await?;
        if user.following.contains(&name) == FOLLOWS {
            // A decision to write nothing is made on the latest state.
            return check_confirmed();
        }
        if FOLLOWS && user.following.len() >= MAX_FOLLOWED {
            return Err(ApiError::Conflict("You follow 100 users. Unfollow one first."));
        }
        let mut user = user.next();
        user.following.remove(&name);
        user.following.extend(FOLLOWS.then(|| name.clone()));
        stores.users.save(user, Some(&etag)).await?;
        Ok(())
    })
    .await?;
    Ok(ProfileBody::new(profile, FOLLOWS))
}
