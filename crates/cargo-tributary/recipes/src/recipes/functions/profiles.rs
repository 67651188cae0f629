//! Profiles of users, and who follows whom.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{http::check_confirmed, prelude::*};

use super::name_of;
use crate::recipes::{
    Stores, User, Username,
    model::{Bio, Image},
};

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

pub(super) async fn follow(
    State(stores): State<Stores>,
    actor: Actor,
    Params(name): Params<Username>,
) -> Result<Json<ProfileBody>, ApiError> {
    set_following(&stores, &actor, &name, true).await
}

pub(super) async fn unfollow(
    State(stores): State<Stores>,
    actor: Actor,
    Params(name): Params<Username>,
) -> Result<Json<ProfileBody>, ApiError> {
    set_following(&stores, &actor, &name, false).await
}

/// Edits the followed names of the caller, which are part of the caller's own item: three store requests.
async fn set_following(
    stores: &Stores,
    actor: &Actor,
    name: &Username,
    follows: bool,
) -> Result<Json<ProfileBody>, ApiError> {
    let profile = stores.user(name).await?.item;
    let me = name_of(actor)?;
    retry(async |_| {
        let Stored { item: mut user, etag } = stores.user(&me).await?;
        let changes = if follows {
            user.following.insert(name.clone())
        } else {
            user.following.remove(name)
        };
        if !changes {
            // On an old state, the caller would not be told of a change that was lost.
            return check_confirmed();
        }
        if user.following.len() > User::MAX_FOLLOWED {
            return Err(ApiError::Conflict("You follow 100 users. Unfollow one first."));
        }
        stores.users.save(user, Some(&etag)).await?;
        Ok(())
    })
    .await?;
    Ok(ProfileBody::new(profile, follows))
}
