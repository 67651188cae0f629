//! Commands on one item: the steps that all of them share.
//!
//! A handler takes an [`ItemCommand`]. [`ItemCommand::put_item`] and [`ItemCommand::delete_item`] are the whole
//! of it for an item that remembers its commands. Otherwise the handler reads the slot of the item within
//! [`retry`], and asks for the next step: [`ItemCommand::put`] (then [`WrittenItem::answer`]),
//! [`put_parent`](ItemCommand::put_parent) of counted children, [`delete`](ItemCommand::delete), or
//! [`delete_child`](ItemCommand::delete_child).
//!
//! A command that was carried out gets the same answer again, before any condition is checked
//! ([`engines::command`](crate::engines::command)). A decision to write nothing is made on the latest state.

use std::convert::Infallible;

use axum::{
    extract::{FromRequestParts, OptionalFromRequestParts},
    http::{HeaderName, StatusCode, request::Parts},
};
use serde::Serialize;

use super::{Actor, ApiError, Conditions, ItemResponse, check_confirmed, created, found, item};
use crate::{
    cosmos::{Attempt, Container, StoreError, Stored, retry},
    engines::{
        command::{DesiredItem, ItemSlot, PutStep, WrittenItem},
        counted_children::{
            CountedChildren, CreateOutcome, Family, FamilyRequest, OperationOutcome,
        },
        idempotency::{IdempotencyKey, RemembersCommands},
    },
    projection::{ContainerItem, PublicItem},
    values::{CommandId, fresh_id},
};

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The answer to an `Idempotency-Key` that comes again with another body.
pub const KEY_USED: ApiError =
    ApiError::Conflict("This Idempotency-Key was used with another body. Use another key.");

/// A command on one item: its id, and the conditions of its caller.
#[derive(Debug)]
pub struct ItemCommand {
    /// The id of the command.
    pub id: CommandId,
    /// The conditions.
    pub conditions: Conditions,
    /// The path of the request, which is that of the item.
    path: String,
}

/// A command of an API whose callers make no conditions.
impl From<CommandId> for ItemCommand {
    fn from(id: CommandId) -> Self {
        Self { id, conditions: Conditions::default(), path: String::new() }
    }
}

impl ItemCommand {
    /// Creates a command that only creates an item, for a handler that says itself where the item is.
    pub fn only_create(id: CommandId) -> Self {
        Self { id, conditions: Conditions::only_create(), path: String::new() }
    }

    /// Carries out a `PUT` of the item with this partition key and id: two store requests. `edit` returns the item
    /// with its new content, or `None` if it has that already. `create` returns the item in its first version, or in
    /// that after the tombstone. The item remembers the command.
    pub async fn put_item<
        T: PublicItem + RemembersCommands,
        C: Future<Output = Result<T, ApiError>>,
    >(
        &self,
        container: &Container,
        (partition, id): (&impl AsRef<str>, &impl AsRef<str>),
        edit: impl Fn(&T) -> Result<Option<T>, ApiError>,
        create: impl Fn(Option<T::Tombstone>) -> C,
    ) -> Result<ItemResponse<T::Public>, ApiError> {
        let answer = |stored: Stored<T>, is_new: bool| {
            let public = stored.item.public();
            WrittenItem { stored, is_new }.answer(&public, |_| self.path.clone())
        };
        retry(async |attempt: Attempt| {
            let slot = container.slot::<T>(partition, id).await?;
            let (item, before, is_new) = match self.put(slot, attempt, &())? {
                PutStep::Done(written) => return Ok(answer(written.stored, written.is_new)),
                PutStep::Edit(stored) => {
                    let Some(item) = edit(&stored.item)? else {
                        check_confirmed()?;
                        return Ok(answer(stored, false));
                    };
                    (item, Some(stored.etag), false)
                }
                PutStep::Create(before) => {
                    let (before, etag) = before.map(|it| (it.item, it.etag)).unzip();
                    (create(before).await?, etag, true)
                }
            };
            let item = if item.knows(&self.id) { item } else { item.remembering(&self.id) };
            Ok(answer(container.save(item, before.as_ref()).await?, is_new))
        })
        .await
    }

    /// Carries out a `DELETE` of the item: two store requests. `tombstone` makes its tombstone, or refuses the caller.
    pub async fn delete_item<T>(
        &self,
        container: &Container,
        (partition, id): (&impl AsRef<str>, &impl AsRef<str>),
        tombstone: impl Fn(&T) -> Result<T::Tombstone, ApiError>,
    ) -> Result<StatusCode, ApiError>
    where
        T: ContainerItem<Tombstone: ContainerItem + RemembersCommands> + RemembersCommands,
    {
        retry(async |_| {
            let slot = container.slot::<T>(partition, id).await?;
            let Some(Stored { item, etag }) = self.delete(slot, T::NAME)? else {
                return Ok(StatusCode::NO_CONTENT);
            };
            let tombstone = tombstone(&item)?;
            self.conditions.check(Some(&etag))?;
            container.save(tombstone.remembering(&self.id), Some(&etag)).await?;
            Ok(StatusCode::NO_CONTENT)
        })
        .await
    }

    /// Decides the next step of a command that puts an item into a slot, after checking its conditions.
    pub fn put<T: RemembersCommands, D>(
        &self,
        slot: ItemSlot<T, D>,
        attempt: Attempt,
        wanted: &impl DesiredItem<T>,
    ) -> Result<PutStep<T, D>, ApiError> {
        let put = slot.put(&self.id, attempt, wanted);
        match &put {
            PutStep::Done(_) => {}
            PutStep::Create(_) => self.conditions.check(None)?,
            PutStep::Edit(stored) => self.conditions.check(Some(&stored.etag))?,
        }
        Ok(match put {
            PutStep::Edit(stored) if wanted.is_satisfied_by(&stored.item) => {
                check_confirmed()?;
                PutStep::Done(WrittenItem::edited(stored))
            }
            put => put,
        })
    }

    /// Returns the item that the command is to delete; `None` if it was carried out. The handler checks the
    /// owner of the item, and then the conditions.
    pub fn delete<T: RemembersCommands, D: RemembersCommands>(
        &self,
        slot: ItemSlot<T, D>,
        name: &'static str,
    ) -> Result<Option<Stored<T>>, ApiError> {
        match slot {
            // A new item may be there by now, which stays.
            ItemSlot::Deleted(tombstone) if tombstone.item.knows(&self.id) => Ok(None),
            ItemSlot::Live(stored) if stored.item.knows(&self.id) => Ok(None),
            ItemSlot::Live(stored) => Ok(Some(stored)),
            ItemSlot::Deleted(_) | ItemSlot::Empty => Err(self.conditions.missing(name)),
        }
    }

    /// Returns the item, which remembers a command with conditions: these hold no longer once it is carried out.
    pub fn sign<T: RemembersCommands>(&self, item: T) -> T {
        if self.conditions.is_empty() { item } else { item.remembering(&self.id) }
    }

    /// Returns the request to edit a parent in the groups of its children, under its ETag if there are conditions.
    pub fn edit_request<P>(&self, parent: Stored<P>) -> FamilyRequest<'_, P> {
        let if_match = Some(parent.etag.clone()).filter(|_| self.conditions.name_a_state());
        FamilyRequest::new(&self.id).if_match(if_match).with_parent(parent)
    }

    /// Creates the parent of counted children, or edits it in its turn among them: two store requests.
    pub async fn put_parent<F: Family>(
        &self,
        children: &CountedChildren<F>,
        key: &F::Key,
        (wanted, edit): (&F::Parent, F::Edit),
        attempt: Attempt,
    ) -> Result<WrittenItem<F::Parent>, ApiError>
    where
        F::Parent: DesiredItem<F::Parent>,
    {
        let slot = ItemSlot::from(children.parent(key).await?);
        match self.put(slot, attempt, wanted)? {
            PutStep::Done(written) => Ok(written),
            PutStep::Edit(found) => {
                let edited = children.edit(key, edit, self.edit_request(found)).await?;
                // A parent that was deleted meanwhile is decided upon anew.
                Ok(WrittenItem::edited(edited.ok_or_else(|| StoreError::race(false))?))
            }
            PutStep::Create(_) => {
                let item: F::Item = wanted.clone().into();
                let etag = children.container.create(key.as_ref(), key.as_ref(), &item).await?;
                Ok(WrittenItem::created(Stored { item: wanted.clone(), etag }))
            }
        }
    }

    /// Deletes a counted child, in one transaction with its parent: two store requests, and one more where it leaves
    /// a tombstone, the command has conditions, or the actor must be the child's `owner`.
    pub async fn delete_child<F: Family>(
        &self,
        children: &CountedChildren<F>,
        (key, id): (&F::Key, F::ChildId),
        actor: &Actor,
        owner: fn(&F::Child) -> &str,
    ) -> Result<StatusCode, ApiError>
    where
        F::ChildId: Clone,
    {
        let partition = key.as_ref();
        let child_id = id.to_string();
        let child_name = F::child_name(&id);
        let attempt = async || {
            let mut request = FamilyRequest::new(&self.id);
            let mut tombstone = None;
            // The parent is an item of the same partition, under its own id: a read sees that it is no child.
            let is_free =
                self.conditions.is_empty() && *actor == Actor::ANY_USER && child_id != partition;
            if !is_free || F::TOMBSTONE.is_some() {
                let parent = children.parent(key).await?;
                let parent = parent.ok_or(ApiError::NotFound(F::PARENT))?;
                if parent.item.knows(&self.id) {
                    return Ok(StatusCode::NO_CONTENT);
                }
                let child = children.container.read::<F::Item>(partition, &child_id).await?;
                let child = child.and_then(Stored::of_type::<F::Child>);
                let Stored { item, etag } = child.ok_or(ApiError::NotFound(child_name))?;
                actor.must_be(owner(&item))?;
                self.conditions.check(Some(&etag))?;
                request = request.with_parent(parent).if_match(Some(etag));
                tombstone = F::TOMBSTONE.map(|tombstone_of| tombstone_of(item));
            }
            match children.delete(key, id.clone(), tombstone, request).await? {
                OperationOutcome::Done { .. } => Ok(StatusCode::NO_CONTENT),
                OperationOutcome::Missing => Err(ApiError::NotFound(child_name)),
                OperationOutcome::NoParent => Err(ApiError::NotFound(F::PARENT)),
                _ => Err(StoreError::race(false).into()),
            }
        };
        retry(async |Attempt { answer_lost }| match attempt().await {
            // An earlier attempt has deleted the child, and its answer was lost.
            Err(ApiError::NotFound(_)) if answer_lost => Ok(StatusCode::NO_CONTENT),
            Err(ApiError::NotFound(name)) => Err(self.conditions.missing(name)),
            result => result,
        })
        .await
    }
}

impl<F: Family> CountedChildren<F> {
    /// Creates a child and counts it, for a command that may have created it before: `is_same` says that of a child
    /// with its id, which is the result then. Every other outcome is an error.
    pub async fn create_once<C: Clone>(
        &self,
        key: &F::Key,
        child: C,
        request: FamilyRequest<'_, F::Parent>,
        is_same: impl FnOnce(&C) -> bool,
    ) -> Result<Stored<C>, ApiError>
    where
        F::Child: From<C> + TryInto<C>,
        F::Refused: Into<ApiError>,
    {
        match self.create(key, child.clone(), request).await? {
            CreateOutcome::Created(etag) => Ok(Stored { item: child, etag }),
            CreateOutcome::Exists(known) if is_same(&known.item) => Ok(known),
            CreateOutcome::Exists(_) => Err(KEY_USED),
            CreateOutcome::Deleted => Err(ApiError::Conflict(
                "The item of this Idempotency-Key was deleted. Use another Idempotency-Key to create a new one.",
            )),
            CreateOutcome::Refused(reason) => Err(reason.into()),
            CreateOutcome::NoParent => Err(ApiError::NotFound(F::PARENT)),
        }
    }
}

impl Conditions {
    /// Returns the answer to a reader of an item: the item, 304 if the reader has this state, or 404 without one.
    pub fn found<T: PublicItem>(
        &self,
        read: Option<Stored<T>>,
    ) -> Result<ItemResponse<T::Public>, ApiError> {
        let Stored { item, etag } = read.ok_or(ApiError::NotFound(T::NAME))?;
        Ok(found(self, &item.public(), &etag))
    }
}

impl<T> WrittenItem<T> {
    /// Returns the answer: 201 with the location of an item that was created, otherwise 200.
    pub fn answer<P: Serialize>(
        &self,
        body: &P,
        location: impl FnOnce(&T) -> String,
    ) -> ItemResponse<P> {
        let Stored { item: written, etag } = &self.stored;
        if self.is_new {
            created(&location(written), body, etag)
        } else {
            item(StatusCode::OK, body, etag)
        }
    }
}

impl<S: Sync> FromRequestParts<S> for ItemCommand {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let id = CommandId::from_request_parts(parts, state).await?;
        let conditions = Conditions::from_request_parts(parts, state).await?;
        Ok(Self { id, conditions, path: parts.uri.path().to_owned() })
    }
}

/// The header that the host sets, replacing one that a client sends. Without a host, the client is
/// responsible for the value.
pub(crate) const INVOCATION_ID: &str = "x-azure-functions-invocationid";

/// The id comes from the invocation id. The host repeats a request without a body up to 40 times when the
/// handler or its connection ends, always with the same invocation id.
impl<S: Sync> FromRequestParts<S> for CommandId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let invocation = parts.headers.get(INVOCATION_ID).and_then(|id| id.to_str().ok());
        Ok(match invocation.filter(|id| !id.is_empty()) {
            // An invocation is one request; method and path guard against a reused id.
            Some(id) => Self::from_text(&format!("{id} {} {}", parts.method, parts.uri.path())),
            None => Self::fresh(),
        })
    }
}

/// Returns the id of a new item: the one that its caller's key stands for in a scope, or a fresh one.
pub fn new_id<T: TryFrom<String>>(
    key: Option<&IdempotencyKey>,
    scope: &str,
) -> Result<T, ApiError> {
    let id = key.map_or_else(fresh_id, |key| key.derived_id(scope));
    T::try_from(id).map_err(|_| ApiError::Internal)
}

impl<S: Sync> OptionalFromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, ApiError> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY) else {
            return Ok(None);
        };
        // The rule refuses a value that is no ASCII text, too.
        let key = IdempotencyKey::parse(value.to_str().unwrap_or_default());
        key.map(Some).map_err(|error| ApiError::invalid("Idempotency-Key", error.to_string()))
    }
}
