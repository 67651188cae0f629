//! C1: `PUT /users/{userId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, ETag, Stored, retry},
    engines::command::{Put, Wanted},
    http::{self, Actor, ApiError, Conditions, Form, FromForm, ItemResponse, JsonBody, Params},
    values::{CommandId, Timestamp},
};

use crate::blog::{
    Blog,
    model::{PublicUser, User, UserId, Username},
    usernames::{release, take_name},
};

/// The body of C1.
pub struct NewName(pub Username);

impl FromForm for NewName {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.text("username", Username::parse).map(Self)
    }
}

/// Creates a user or renames one.
///
/// Both begin with a read of the user. To create takes two store requests more: reserve the name,
/// write the user; a rename three: it releases the old name in the end.
pub async fn put_user(
    State(blog): State<Blog>,
    actor: Actor,
    Params(id): Params<UserId>,
    conditions: Conditions,
    command: CommandId,
    JsonBody(NewName(username)): JsonBody<NewName>,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    actor.must_be(id.as_str())?;
    let user = User::new(id, username);
    let conditional = Conditional { conditions, command };
    retry(async |attempt: Attempt| {
        save(&blog.reading(attempt.reads), &user, &conditional, attempt).await
    })
    .await
}

/// The conditions of a command, and its id, by which its write is known again: the condition does
/// not hold any more once it is carried out.
pub(super) struct Conditional {
    pub(super) conditions: Conditions,
    pub(super) command: CommandId,
}

impl Conditional {
    /// Leaves the command in what it writes, if that was under a condition.
    fn sign(&self, mut user: User) -> User {
        if !self.conditions.is_empty() {
            user.recent.remember([self.command.clone()], Timestamp::now());
        }
        user
    }
}

/// Creates `wanted`, or gives its name to the user who has its id.
pub(super) async fn save(
    blog: &Blog,
    wanted: &User,
    conditional: &Conditional,
    attempt: Attempt,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    let conditions = &conditional.conditions;
    let slot = blog.user_slot(&wanted.user_id).await?;
    match slot.put(&conditional.command, attempt, wanted) {
        Put::Created(user) => Ok(created(blog, &user.item, &user.etag)),
        Put::Edited(user) => Ok(http::item(StatusCode::OK, &user.item.public, &user.etag)),
        Put::Create(tombstone) => {
            conditions.check(None)?;
            let tombstone = tombstone.map(|tombstone| tombstone.etag);
            create(blog, conditional.sign(wanted.clone()), tombstone.as_ref()).await
        }
        Put::Edit(user) => {
            conditions.check(Some(&user.etag))?;
            rename(blog, user, &wanted.public.username, conditional).await
        }
    }
}

impl Wanted<User> for User {
    fn has_created(&self, user: &User) -> bool {
        user.public.creation_date == self.public.creation_date
    }

    fn is(&self, user: &User) -> bool {
        user.public == self.public
    }
}

/// Reserves the name of a new user and writes the user, in the place of a mark if there is one.
pub(super) async fn create(
    blog: &Blog,
    wanted: User,
    mark: Option<&ETag>,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    let (user, etag) = take_name(blog, wanted, mark).await?;
    Ok(created(blog, &user, &etag))
}

async fn rename(
    blog: &Blog,
    user: Stored<User>,
    name: &Username,
    conditional: &Conditional,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    let Stored { item: user, etag } = user;
    let old_name = user.public.username.clone();
    if old_name == *name {
        blog.reads.confirmed()?;
        return Ok(http::item(StatusCode::OK, &user.public, &etag));
    }
    let renamed = conditional.sign(user.renamed(name.clone()));
    let (renamed, etag) = if old_name.key() == name.key() {
        let etag = blog.write_user(&renamed, Some(&etag)).await?;
        (renamed, etag)
    } else {
        let (renamed, etag) = take_name(blog, renamed, Some(&etag)).await?;
        if let Some(former) = renamed.former.last()
            && let Err(error) = release(blog, former).await
        {
            let reason = error.reason;
            tracing::info!(?reason, "The change feed will release the old username");
        }
        (renamed, etag)
    };
    blog.remember(&renamed);
    Ok(http::item(StatusCode::OK, &renamed.public, &etag))
}

fn created(blog: &Blog, user: &User, etag: &ETag) -> ItemResponse<PublicUser> {
    blog.remember(user);
    http::created(&format!("/api/users/{}", user.user_id), &user.public, etag)
}
