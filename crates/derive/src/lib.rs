#![doc = include_str!("../README.md")]

mod item;
mod items;

use proc_macro::TokenStream;
use syn::Error;

/// Declares the items of a container: an `enum` with a variant for each type, boxed or not.
///
/// ```ignore
/// /// An item of the container `rooms`.
/// #[items(partition_key = "roomId")]
/// pub enum RoomsItem {
///     Room(Room),
///     DeletedRoom(DeletedRoom),
///     Booking(Booking),
/// }
/// ```
///
/// | argument | what it adds |
/// | --- | --- |
/// | none | `Debug`, `Clone`, serde with the tag `type`, and the conversions of `values::item_types!` |
/// | `tag = "state"` | another tag than `type` |
/// | `partition_key = "roomId"` | `projection::ChangeFeedItem`, with the `origin` of each variant |
/// | `sources(Room, DeletedRoom)` | only these variants have an origin: the others are copies |
/// | `secrets("password")` | `ChangeFeedItem::SECRETS` |
#[proc_macro_attribute]
pub fn items(arguments: TokenStream, declaration: TokenStream) -> TokenStream {
    let items = items::expand(arguments.into(), declaration.into());
    items.unwrap_or_else(Error::into_compile_error).into()
}

/// Declares a type of items: a struct with `Debug`, `Clone`, serde in camel case, and `projection::ContainerItem`.
///
/// ```ignore
/// /// A room.
/// #[item(RoomsItem, id = room_id, version, created_by, former_owners(former = person_id), tombstone(struct DeletedRoom {
///     id: String,
///     room_id,
///     person_id,
///     /// A room in the place of the deleted one is newer.
///     room_date: Timestamp = creation_date,
/// }))]
/// pub struct Room {
///     #[serde(flatten)]
///     pub public: PublicRoom,
///     pub person_version: u64,
/// }
/// ```
///
/// The first argument is the `enum` of all [`macro@items`] of the container. Names are those of fields of the struct or
/// of its flattened field. What a line adds can also be written by hand instead.
///
/// | argument | what it adds |
/// | --- | --- |
/// | `id = room_id` | the id, which is the partition key, too, without a `partition = …` |
/// | `version` | the field `version`; `first`, which creates the item in version 1; `next`, for each change that a copy shows; its origin |
/// | `recent` | the field `recent` and `RemembersCommands`: the latest commands |
/// | `created_by` | the same, and the command that created the item |
/// | `former_owners(former = person_id)` | the field `former` with the `FormerOwners`; `person_id` is the present one |
/// | `texts(title)` | `may_be_rewritten`: the texts that projections copy, by which they know that the Functions host may have rewritten them. Without it, they read each source again |
/// | `unique(username, email)` | the field `claims` and `engines::unique_claim::UniqueValues`: values that no other item of the type has, in any case. `Container::claim` writes the item |
/// | `child_of(Room, counted = booking_count)` | the field `parent_version` and `engines::counted_children::Family`, which is the type itself: a child in the logical partition of its parent, whose field counts it and raises its version (without it, the parent stays as it is). A child with a tombstone is toggled |
/// | `tombstone(struct DeletedRoom { … })` | the type of its tombstones, with these fields (by default the same ones; `= field` names another one, or an expression of `self`), the version, the memory and the time to live; `tombstone`, `deleted`, `replacing`, and `projection::LeavesTombstone` for children that are toggled or removed |
/// | `tombstone(NoUser)` | a type of tombstones that is declared elsewhere |
/// | `public(struct PublicRoom { … })` | the type that callers see, with these fields of the item, and its fields in queries as `PublicRoom::SELECT` and `PublicRoom::SHAPE`; `projection::PublicItem` |
/// | `public(PublicRoom)` | the type of the flattened field, as the one that callers see |
#[proc_macro_attribute]
pub fn item(arguments: TokenStream, declaration: TokenStream) -> TokenStream {
    let item = item::expand(arguments.into(), declaration.into());
    item.unwrap_or_else(Error::into_compile_error).into()
}
