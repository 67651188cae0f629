//! The removal of the comments and likes that a deleted post has left.
//!
//! # Why none of them stays for good
//!
//! 1. Every comment and like is written in one transaction with its live post. So once the tombstone
//!    stands in the place of the post, no further one of that post comes.
//! 2. A step queries the latest committed state: a query that finds nothing has missed nothing, and
//!    the removal is over for good.
//! 3. The tombstone is acknowledged only when a query has found nothing more, or when it was
//!    written again. Then the change feed delivers it again, and the removal goes on: also after a
//!    crash at any point.
//! 4. A new post takes the place of the tombstone only after a query has found nothing
//!    (`PUT /posts/{postId}`), under the ETag of the tombstone. So a tombstone is never replaced
//!    while a removal needs it.
//!
//! Steps of several instances, of a `PUT` and of the audit may meet. The store refuses all but one
//! of two transactions that delete the same item, and the other one queries again.

use tokio::time::Instant;

use crate::{
    blog::{
        Blog,
        model::{DeletedPost, PostId, PostsItem},
        stores::PostSlot,
    },
    cosmos::{Container, Query, Reason, Refusal, Scope, StoreError, Transaction},
    projection::{Background, Effect},
};

/// How many items one step deletes, in one transaction: some 350 request units, which are spent
/// at once (service limit: 100 operations).
const STEP: u32 = 50;

/// How many steps a request takes. More would keep its caller waiting.
const STEPS_IN_REQUEST: usize = 4;

/// Whether comments or likes of a deleted post are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::blog) enum Left {
    Nothing,
    Some,
}

/// What one step has found.
enum Step {
    /// There was nothing.
    Empty,
    /// These were all.
    Last,
    /// There may be more.
    Full,
}

/// Removes comments and likes of a post that was deleted in `version`, at most a few hundred: for a
/// request, whose caller waits.
pub(in crate::blog) async fn remove_some(
    blog: &Blog,
    post_id: &PostId,
    version: u64,
) -> Result<Left, StoreError> {
    for _ in 0..STEPS_IN_REQUEST {
        if !matches!(step(&blog.posts, post_id, version).await?, Step::Full) {
            return Ok(Left::Nothing);
        }
    }
    Ok(Left::Some)
}

/// Removes the comments and likes of a deleted post for a slice of time, and then writes the
/// tombstone again if some are left.
pub(super) async fn remove_for_a_slice(
    blog: &Blog,
    background: &Background,
    tombstone: &DeletedPost,
) -> Result<Effect, StoreError> {
    let deadline = background.deadline();
    let DeletedPost { post_id, version, .. } = tombstone;
    let mut effect = Effect::Unchanged;
    // The first step waits for no other: most posts need no second one.
    let mut next = background.pacer.charge(step(&blog.posts, post_id, *version)).await;
    loop {
        match next? {
            Step::Empty => return Ok(effect),
            Step::Last => return Ok(Effect::Applied),
            Step::Full => effect = Effect::Applied,
        }
        if Instant::now() >= deadline {
            break;
        }
        let turn = background.pacer.run(deadline, step(&blog.posts, post_id, *version));
        match turn.await {
            Some(done) => next = done,
            None => break,
        }
    }
    background.pacer.charge(go_on_later(blog, tombstone)).await?;
    Ok(effect)
}

/// Deletes up to [`STEP`] comments and likes that a post had before it was deleted in `version`.
/// Those of a later post with the same id are newer, and stay.
async fn step(posts: &Container, post_id: &PostId, version: u64) -> Result<Step, StoreError> {
    let partition = post_id.as_str();
    // The order is that of an index, by which the items of the post are found.
    let query = Query::from(
        "SELECT TOP @batch VALUE c.id FROM c \
         WHERE c.postId = @postId AND c.type IN ('comment', 'like') AND c.postVersion < @version \
         ORDER BY c.postId DESC, c.type DESC, c.creationDate DESC, c.id DESC",
    )
    .with_parameter("@postId", post_id)?
    .with_parameter("@batch", STEP)?
    .with_parameter("@version", version)?;
    let posts = posts.latest_committed();
    let ids: Vec<String> = posts.query(query, Scope::Partition(partition), STEP).await?;
    if ids.is_empty() {
        return Ok(Step::Empty);
    }
    let delete = |transaction: Transaction, id: &String| transaction.delete(id, None);
    let deletes = ids.iter().fold(Transaction::new(partition), delete);
    match posts.transact(deletes).await {
        // The query had room for more: these were all.
        Ok(_) if ids.len() < STEP as usize => Ok(Step::Last),
        // Another instance has deleted some of them: the next query tells what is left.
        Err(Refusal { error, .. }) if error.reason != Reason::NotFound => Err(error),
        _ => Ok(Step::Full),
    }
}

/// Writes the tombstone again, so that the change feed delivers it again.
async fn go_on_later(blog: &Blog, tombstone: &DeletedPost) -> Result<(), StoreError> {
    let post_id = &tombstone.post_id;
    let id = post_id.as_str();
    let (item, etag) = match blog.latest_committed().post_slot(post_id).await? {
        // This is delivered, too, and takes what is older with it.
        PostSlot::Deleted(newer) if newer.item.version > tombstone.version => return Ok(()),
        PostSlot::Deleted(same) => (same.item, Some(same.etag)),
        // Its time to live is over.
        PostSlot::Empty => (tombstone.clone(), None),
        // Not before all is removed: so the next query finds nothing.
        PostSlot::Post(_) => return Err(StoreError::race(false)),
    };
    blog.posts.put(id, id, &PostsItem::DeletedPost(item), etag.as_ref()).await?;
    tracing::info!(
        post.id = id,
        "The removal of comments and likes goes on with the next delivery"
    );
    Ok(())
}
