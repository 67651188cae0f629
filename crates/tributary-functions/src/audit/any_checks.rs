//! Checks of any type: the engine is compiled once, and not again for each domain.

use futures::{FutureExt, future::BoxFuture};

use super::{AuditedItem, Checks, RepairResult, Suspect};
use crate::cosmos::{Container, StoreError};

pub(super) trait AnyChecks: Send + Sync {
    fn groups(&self) -> &'static [&'static str];

    fn containers(&self) -> Vec<(&Container, &'static str)>;

    fn read_page<'a>(&'a self, page: &'a [AuditedItem]) -> BoxFuture<'a, Result<(), StoreError>>;

    fn check_item<'a>(
        &'a self,
        item: &'a AuditedItem,
        fresh: bool,
    ) -> BoxFuture<'a, Result<Vec<Suspect>, StoreError>>;

    fn check_group(&self, group: &'static str) -> BoxFuture<'_, Result<Vec<Suspect>, StoreError>>;

    fn repair<'a>(&'a self, suspect: &'a Suspect) -> BoxFuture<'a, RepairResult>;
}

impl<C: Checks> AnyChecks for C {
    fn groups(&self) -> &'static [&'static str] {
        C::GROUPS
    }

    fn containers(&self) -> Vec<(&Container, &'static str)> {
        Checks::containers(self)
    }

    fn read_page<'a>(&'a self, page: &'a [AuditedItem]) -> BoxFuture<'a, Result<(), StoreError>> {
        Checks::read_page(self, page).boxed()
    }

    fn check_item<'a>(
        &'a self,
        item: &'a AuditedItem,
        fresh: bool,
    ) -> BoxFuture<'a, Result<Vec<Suspect>, StoreError>> {
        Checks::check_item(self, item, fresh).boxed()
    }

    fn check_group(&self, group: &'static str) -> BoxFuture<'_, Result<Vec<Suspect>, StoreError>> {
        Checks::check_group(self, group).boxed()
    }

    fn repair<'a>(&'a self, suspect: &'a Suspect) -> BoxFuture<'a, RepairResult> {
        Checks::repair(self, suspect).boxed()
    }
}
