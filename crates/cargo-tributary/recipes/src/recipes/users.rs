//! Users: registration, login, profiles, and who follows whom.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{http::check_confirmed, prelude::*};

use super::{
    Stores,
    model::{Credentials, InProfile, InUser, User, Username},
    name_of,
};

/// The caller, with a token.
#[derive(Serialize, JsonSchema)]
pub(super) struct SignedInUser {
    username: Username,
    #[schemars(example = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl")]
    token: String,
}

impl SignedInUser {
    /// Signs a user in.
    fn new(stores: &Stores, username: Username) -> Result<InUser<Self>, ApiError> {
        let token = stores.tokens.issue(&username)?;
        Ok(InUser { user: Self { username, token } })
    }
}

/// Creates the user, unless one has the name: two store requests.
pub(super) async fn register(
    State(stores): State<Stores>,
    command: CommandId,
    JsonBody(InUser { user: new }): JsonBody<InUser<Credentials>>,
) -> Result<ItemResponse<InUser<SignedInUser>>, ApiError> {
    let (name, password) = (new.username, stores.passwords.hash(new.password).await?);
    let user = User::first(name.clone(), name.clone(), password, BTreeSet::new(), &command);
    let Stored { etag, .. } = retry(async |_| {
        match stores.users.item::<User>(&name, &name).await? {
            // By an earlier attempt, whose answer was lost.
            Some(known) if known.item.created_by == command => Ok(known),
            Some(_) => Err(ApiError::Conflict("Another user has this name. Choose another one.")),
            None => Ok(stores.users.save(user.clone(), None).await?),
        }
    })
    .await?;
    let location = format!("/api/profiles/{name}");
    Ok(http::created(&location, &SignedInUser::new(&stores, name)?, &etag))
}

/// Compares the password with the hash of the user: one point read.
pub(super) async fn login(
    State(stores): State<Stores>,
    JsonBody(InUser { user: given }): JsonBody<InUser<Credentials>>,
) -> Result<Json<InUser<SignedInUser>>, ApiError> {
    let name = given.username;
    let known = stores.users.item::<User>(&name, &name).await?.map(|user| user.item.password);
    if !stores.passwords.is_hash_of(known, given.password).await? {
        return Err(ApiError::Unauthorized("The name or the password is wrong."));
    }
    SignedInUser::new(&stores, name).map(Json)
}

/// Returns the user of the token, with a new one.
pub(super) async fn get_user(
    State(stores): State<Stores>,
    actor: Actor,
) -> Result<Json<InUser<SignedInUser>>, ApiError> {
    let user = stores.user(&name_of(&actor)?).await?;
    SignedInUser::new(&stores, user.item.username).map(Json)
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Profile {
    username: Username,
    /// True if the caller follows the user.
    following: bool,
}

impl Profile {
    fn new(user: User, following: bool) -> Json<InProfile<Self>> {
        Json(InProfile { profile: Self { username: user.username, following } })
    }
}

/// Returns a profile: one point read, and one more for a caller with a token.
pub(super) async fn get_profile(
    State(stores): State<Stores>,
    caller: Option<Actor>,
    Params(name): Params<Username>,
) -> Result<Json<InProfile<Profile>>, ApiError> {
    let profile = stores.user(&name).await?.item;
    let Some(actor) = caller else { return Ok(Profile::new(profile, false)) };
    let me = name_of(&actor)?;
    let me: Option<Stored<User>> = stores.users.item(&me, &me).await?;
    let following = me.is_some_and(|me| me.item.following.contains(&name));
    Ok(Profile::new(profile, following))
}

const MAX_FOLLOWED: usize = 100;

/// Adds a name to those that the caller follows, or removes it: three store requests.
pub(super) async fn follow<const FOLLOWS: bool>(
    State(stores): State<Stores>,
    actor: Actor,
    Params(name): Params<Username>,
) -> Result<Json<InProfile<Profile>>, ApiError> {
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
    Ok(Profile::new(profile, FOLLOWS))
}
