//! Changes of files, for `--watch`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use notify::event::{AccessKind, AccessMode, MetadataKind, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

/// The time without a change before a build begins: an editor writes several files.
const QUIET_TIME: Duration = Duration::from_millis(50);

pub(super) struct Changes {
    changed: mpsc::Receiver<()>,
    _watcher: RecommendedWatcher,
}

impl Changes {
    /// Begins to watch folders, without Cargo's target directory.
    pub(super) fn begin(folders: &[PathBuf], target: Option<&Path>) -> anyhow::Result<Self> {
        let (sender, changed) = mpsc::channel(1);
        let built = target.map(Path::to_owned);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let is_source =
                |path: &PathBuf| built.as_ref().is_none_or(|built| !path.starts_with(built));
            if event.is_ok_and(|event| is_change(event.kind) && event.paths.iter().any(is_source)) {
                // One waiting change is enough.
                let _ = sender.try_send(());
            }
        })
        .context("files cannot be watched")?;
        for folder in folders {
            let unwatched = || format!("{} cannot be watched", folder.display());
            watcher.watch(folder, RecursiveMode::NonRecursive).with_context(unwatched)?;
            for inner in fs::read_dir(folder).with_context(unwatched)? {
                let inner = inner.with_context(unwatched)?.path();
                if inner.is_dir() && Some(inner.as_path()) != target && !is_hidden(&inner) {
                    watcher.watch(&inner, RecursiveMode::Recursive).with_context(unwatched)?;
                }
            }
        }
        Ok(Self { changed, _watcher: watcher })
    }

    /// Waits for a change, and returns its time after a moment without another change.
    pub(super) async fn next(&mut self) -> anyhow::Result<Instant> {
        self.changed.recv().await.context("files are not watched any more")?;
        let first = Instant::now();
        while let Ok(Some(())) = tokio::time::timeout(QUIET_TIME, self.changed.recv()).await {}
        Ok(first)
    }
}

/// Returns true if the content or the name of a file has changed.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Modify(ModifyKind::Metadata(metadata)) => metadata == MetadataKind::WriteTime,
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) => true,
        EventKind::Any | EventKind::Other => false,
    }
}

/// Returns true for folders of tools, such as `.git` and `node_modules`.
fn is_hidden(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || name == "node_modules" || name == "target"
}
