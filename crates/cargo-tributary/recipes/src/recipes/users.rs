//! Users: registration, login, profiles, and who follows whom.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{http::check_confirmed, prelude::*};

use super::{
    Stores,
    model::{Bio, Email, InProfile, InUser, Login, Registration, User, UserEdit, Username},
    name_of,
};

/// The caller, with a token.
#[derive(Serialize, JsonSchema)]
pub(super) struct SignedInUser {
    username: Username,
    email: Email,
    bio: Option<Bio>,
    #[schemars(example = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl")]
    token: String,
}

impl SignedInUser {
    fn new(stores: &Stores, user: User) -> Result<InUser<Self>, ApiError> {
        let token = stores.tokens.issue(&user.username)?;
        let User { username, email, bio, .. } = user;
        Ok(InUser { user: Self { username, email, bio, token } })
    }
}

/// Creates the user, unless one has the name or the address: three store requests.
pub(super) async fn register(
    State(stores): State<Stores>,
    command: CommandId,
    JsonBody(InUser { user: new }): JsonBody<InUser<Registration>>,
) -> Result<ItemResponse<InUser<SignedInUser>>, ApiError> {
    let Registration { username: name, email, password } = new;
    let password = stores.passwords.hash(password).await?;
    let nobody = BTreeSet::new();
    let user = User::first(name.clone(), name.clone(), email, None, password, nobody, &command);
    let Stored { item: user, etag } = retry(async |_| {
        match stores.users.item::<User>(&name, &name).await? {
            // By an earlier attempt, whose answer was lost.
            Some(known) if known.item.created_by == command => Ok(known),
            Some(_) => Err(ApiError::Taken("username")),
            None => stores.users.claim(user.clone(), None).await,
        }
    })
    .await?;
    let location = format!("/api/profiles/{name}");
    Ok(http::created(&location, &SignedInUser::new(&stores, user)?, &etag))
}

/// Compares the password with the hash of the user: two point reads.
pub(super) async fn login(
    State(stores): State<Stores>,
    JsonBody(InUser { user: given }): JsonBody<InUser<Login>>,
) -> Result<Json<InUser<SignedInUser>>, ApiError> {
    let user = stores.users.owner_of::<User>("email", &given.email).await?;
    let known = user.as_ref().map(|user| user.item.password.clone());
    let is_right = stores.passwords.is_hash_of(known, given.password).await?;
    let user = user.filter(|_| is_right);
    let user = user.ok_or(ApiError::Unauthorized("The address or the password is wrong."))?;
    SignedInUser::new(&stores, user.item).map(Json)
}

/// Returns the user of the token, with a new one.
pub(super) async fn get_user(
    State(stores): State<Stores>,
    actor: Actor,
) -> Result<Json<InUser<SignedInUser>>, ApiError> {
    let user = stores.user(&name_of(&actor)?).await?;
    SignedInUser::new(&stores, user.item).map(Json)
}

/// Edits the user of the token: two store requests, and two more for another address.
pub(super) async fn edit_user(
    State(stores): State<Stores>,
    actor: Actor,
    JsonBody(InUser { user: edit }): JsonBody<InUser<UserEdit>>,
) -> Result<Json<InUser<SignedInUser>>, ApiError> {
    let me = name_of(&actor)?;
    let edited = retry(async |_| {
        let Stored { item: user, etag } = stores.user(&me).await?;
        stores.users.claim(edit.apply(user.next()), Some(&etag)).await
    });
    SignedInUser::new(&stores, edited.await?.item).map(Json)
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
    let me = caller.as_ref().map(name_of).transpose()?;
    // A user of a token may be gone.
    let me = stores.users.items::<User>(me).await?;
    Ok(Profile::new(profile, me.values().any(|me| me.following.contains(&name))))
}

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
        if FOLLOWS && user.following.len() >= 100 {
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
