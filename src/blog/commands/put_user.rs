//! C1: `PUT /users/{userId}`.

use axum::{extract::State, http::StatusCode, response::Response};

use crate::{
    blog::{
        Blog,
        model::{User, UserId, Username, UsersItem},
        stores::UserSlot,
        usernames::{give_up, release, reserve},
    },
    cosmos::{Attempt, ETag, Reads, StoreError, Stored, retry},
    http::{self, Actor, ApiError, Conditions, Form, FromForm, JsonBody, Params},
    values::{CommandId, Timestamp},
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
) -> Result<Response, ApiError> {
    actor.must_be(id.as_str())?;
    let user = User::new(id, username);
    let conditional = Conditional { conditions, command };
    retry(async |Attempt { answer_lost, reads }| {
        save(&blog.reading(reads), &user, &conditional, answer_lost).await
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
    answer_lost: bool,
) -> Result<Response, ApiError> {
    let conditions = &conditional.conditions;
    match blog.user_slot(&wanted.user_id).await? {
        // By an earlier attempt: there may have been other renames since.
        UserSlot::User(user) if user.item.recent.knows(&conditional.command) => {
            let is_new = user.item.public.creation_date == wanted.public.creation_date;
            Ok(if is_new {
                created(blog, &user.item, &user.etag)
            } else {
                http::item(StatusCode::OK, &user.item.public, &user.etag)
            })
        }
        UserSlot::Empty => {
            conditions.check(None)?;
            create(blog, conditional.sign(wanted.clone()), None).await
        }
        UserSlot::Mark(etag, _) => {
            conditions.check(None)?;
            create(blog, conditional.sign(wanted.clone()), Some(&etag)).await
        }
        UserSlot::User(user) if answer_lost && user.item.public == wanted.public => {
            Ok(created(blog, &user.item, &user.etag))
        }
        UserSlot::User(user) => {
            conditions.check(Some(&user.etag))?;
            rename(blog, user, &wanted.public.username, conditional).await
        }
    }
}

/// Reserves the name of a new user and writes the user, in the place of a mark if there is one.
pub(super) async fn create(
    blog: &Blog,
    wanted: User,
    mark: Option<&ETag>,
) -> Result<Response, ApiError> {
    let (user, etag) = take_name(blog, wanted, mark).await?;
    Ok(created(blog, &user, &etag))
}

async fn rename(
    blog: &Blog,
    user: Stored<User>,
    name: &Username,
    conditional: &Conditional,
) -> Result<Response, ApiError> {
    let Stored { item: user, etag } = user;
    let old_name = user.public.username.clone();
    if old_name == *name {
        blog.confirmed()?;
        return Ok(http::item(StatusCode::OK, &user.public, &etag));
    }
    let renamed = conditional.sign(user.renamed(name.clone()));
    let (renamed, etag) = if old_name.key() == name.key() {
        let etag = write(blog, &renamed, Some(&etag)).await?;
        (renamed, etag)
    } else {
        let (renamed, etag) = take_name(blog, renamed, Some(&etag)).await?;
        if let Some(former) = renamed.former.last()
            && let Err(error) = release(blog, former).await
        {
            let reason = error.reason;
            tracing::info!(?reason, "The old username is left to the change feed to give back");
        }
        (renamed, etag)
    };
    blog.remember(&renamed);
    Ok(http::item(StatusCode::OK, &renamed.public, &etag))
}

/// Reserves the name of a user and writes the user, who was read before.
pub(in crate::blog) async fn take_name(
    blog: &Blog,
    user: User,
    read: Option<&ETag>,
) -> Result<(User, ETag), ApiError> {
    let name = user.public.username.clone();
    let reservation = reserve(blog, &name, &user.user_id).await?;
    let user = user.holding(&reservation);
    match write(blog, &user, read).await {
        Ok(etag) => Ok((user, etag)),
        Err(error) if error.answer_lost => {
            match blog.reading(Reads::Latest).user_slot(&user.user_id).await {
                // No other write names this reservation: this one was carried out.
                Ok(UserSlot::User(Stored { item, etag }))
                    if item.reservation == user.reservation =>
                {
                    Ok((user, etag))
                }
                _ => Err(error.into()),
            }
        }
        Err(error) => {
            give_up(blog, &name, &user.user_id, &reservation).await;
            Err(error.into())
        }
    }
}

async fn write(blog: &Blog, user: &User, read: Option<&ETag>) -> Result<ETag, StoreError> {
    let id = user.user_id.as_str();
    blog.users.put(id, id, &UsersItem::User(user.clone()), read).await
}

fn created(blog: &Blog, user: &User, etag: &ETag) -> Response {
    blog.remember(user);
    http::created(&format!("/api/users/{}", user.user_id), &user.public, etag)
}
