//! Checks of `users`: reservations of names both ways, and copies without a post.

use tributary_functions::audit::{
    AuditedItem, CheckResult, CheckResults, Checks, FindingKind, ReferencedItem,
};

use super::BlogChecks;
use crate::model::{PostCopy, UsersItem};

impl BlogChecks {
    pub(super) async fn check_users_item(
        &self,
        item: UsersItem,
        audited: &AuditedItem,
        fresh: bool,
    ) -> CheckResults {
        let suspect = match item {
            UsersItem::User(_) | UsersItem::Username(_) => {
                return self.names.check_item(audited, fresh).await;
            }
            UsersItem::Post(copy) => self.check_source(&copy, audited, fresh).await?,
            UsersItem::NoUser(_) | UsersItem::Renaming(_) | UsersItem::DeletedPost(_) => None,
        };
        Ok(suspect.into_iter().collect())
    }

    async fn check_source(
        &self,
        copy: &PostCopy,
        audited: &AuditedItem,
        fresh: bool,
    ) -> CheckResult {
        let post_id = &copy.public.post_id;
        let found = match self.parent(post_id, fresh).await? {
            ReferencedItem::Live(post)
                if post.user_id.as_str() == audited.partition_key
                    && audited.id == PostCopy::id_in_users(post_id) =>
            {
                return Ok(None);
            }
            ReferencedItem::Live(post) => format!("a copy of a post of {}", post.user_id),
            ReferencedItem::Missing => format!("a copy of version {}, but no post", copy.version),
            ReferencedItem::Unreadable => return Ok(None),
        };
        Ok(Some(audited.suspect(FindingKind::COPY_EXTRA, ("none", found), &audited.etag)))
    }
}
