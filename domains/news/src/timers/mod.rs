//! The timers: each brings the due items to a colder container, within four minutes.

mod news_archive;
mod news_migration;

pub(super) use news_archive::{archive, archive_run};
pub(super) use news_migration::migrate;

use tributary_functions::domain::Timer;

use crate::{moves::run::RunSlice, state::News};

pub(super) fn timers(news: &News) -> Vec<Timer> {
    let for_migration = news.clone();
    let for_archive = news.clone();
    vec![
        Timer::new("NewsMigration", "0 */15 * * * *", move || {
            let news = for_migration.clone();
            async move { migrate(&news, RunSlice::TIMER).await.map(drop) }
        }),
        Timer::new("NewsArchive", "0 30 4 * * *", move || {
            let news = for_archive.clone();
            async move { archive(&news, RunSlice::TIMER).await.map(drop) }
        }),
    ]
}
