//! C1: users.

use tributary_functions::prelude::*;
use uuid::Uuid;

use crate::{
    Blog,
    model::{PublicUser, User, UserId, Username},
    usernames::claim_name,
};

/// Creates a user under an id of the server: two store requests. A signed-in caller is created
/// under its principal id. This costs one extra read, to refuse a second sign-up.
pub async fn create_user(
    State(blog): State<Blog>,
    actor: Actor,
    command: CommandId,
    JsonBody(NewName(username)): JsonBody<NewName>,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    let id = actor.user_id().map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
    let id = UserId::parse(id).map_err(|error| ApiError::invalid("id", error.to_string()))?;
    let user = User::new(id, username);
    let command = ItemCommand::only_create(command);
    let written = retry(async |attempt: Attempt| {
        if attempt.answer_lost || actor.user_id().is_some() {
            match save(&blog, &user, &command, attempt).await {
                Err(ApiError::PreconditionFailed) => Err(ApiError::Conflict(
                    "Your user exists already. Change its name with `PUT /api/users/{userId}`.",
                )),
                result => result,
            }
        } else {
            // A fresh id is unique, so this needs no read.
            create(&blog, user.clone(), None).await
        }
    });
    Ok(answer(&written.await?))
}

/// The body: the name of the user.
pub struct NewName(pub Username);

from_form!(NewName(text("username", Username::parse)));

/// Creates a user or renames one.
///
/// Both begin with a read of the user. A creation takes two more store requests: it reserves the
/// name and writes the user. A rename takes three: it releases the old name in the end.
pub async fn put_user(
    State(blog): State<Blog>,
    actor: Actor,
    Params(id): Params<UserId>,
    command: ItemCommand,
    JsonBody(NewName(username)): JsonBody<NewName>,
) -> Result<ItemResponse<PublicUser>, ApiError> {
    actor.must_be(id.as_str())?;
    let user = User::new(id, username);
    retry(async |attempt: Attempt| Ok(answer(&save(&blog, &user, &command, attempt).await?))).await
}

/// Creates `wanted`, or gives its name to the user with its id.
pub(super) async fn save(
    blog: &Blog,
    wanted: &User,
    command: &ItemCommand,
    attempt: Attempt,
) -> Result<WrittenItem<User>, ApiError> {
    let id = &wanted.user_id;
    match command.put(blog.users.slot(id, id).await?, attempt, wanted)? {
        PutStep::Done(written) => Ok(written),
        PutStep::Create(tombstone) => {
            let tombstone = tombstone.map(|tombstone| tombstone.etag);
            create(blog, command.sign(wanted.clone()), tombstone.as_ref()).await
        }
        PutStep::Edit(user) => rename(blog, user, &wanted.public.username, command).await,
    }
}

impl DesiredItem<Self> for User {
    fn has_created(&self, user: &Self) -> bool {
        user.public.creation_date == self.public.creation_date
    }

    fn matches_new(&self, user: &Self) -> bool {
        user.public == self.public
    }

    fn is_satisfied_by(&self, user: &Self) -> bool {
        user.public.username == self.public.username
    }
}

pub(super) async fn create(
    blog: &Blog,
    wanted: User,
    tombstone: Option<&ETag>,
) -> Result<WrittenItem<User>, ApiError> {
    let user = claim_name(blog, wanted, tombstone).await?;
    blog.remember(&user.item);
    Ok(WrittenItem::created(user))
}

async fn rename(
    blog: &Blog,
    Stored { item: user, etag }: Stored<User>,
    name: &Username,
    command: &ItemCommand,
) -> Result<WrittenItem<User>, ApiError> {
    let renamed = command.sign(user.renamed(name.clone()));
    let renamed = claim_name(blog, renamed, Some(&etag)).await?;
    blog.remember(&renamed.item);
    Ok(WrittenItem::edited(renamed))
}

pub(super) fn answer(written: &WrittenItem<User>) -> ItemResponse<PublicUser> {
    let location = |user: &User| format!("/api/users/{}", user.user_id);
    written.answer(&written.stored.item.public, location)
}
