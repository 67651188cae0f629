//! The folder of `cargo local --data`: one file with all items, written again and again, and read at the start.
//!
//! - Each line is an item: `{"container": …, "item": …}`. The file has one moment of all containers. It is
//!   written beside the last one and takes its name, so a crash leaves one of the two, whole. What was written
//!   in the last seconds before a crash is lost.
//! - The items come back without leases. So a trigger that starts from the beginning gets all of them again,
//!   and a change that no projection had applied is not lost. Projections find the others done: a copy knows
//!   the version of its source.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use azure_data_cosmos::models::ContainerProperties;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::cosmos::{CosmosEndpoint, Snapshots};
use crate::host::Console;

const FILE: &str = "items.jsonl";
const INTERVAL: Duration = Duration::from_secs(5);
const CONCURRENT: usize = 16;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemLine<Name, Item> {
    container: Name,
    item: Item,
}

pub(super) struct DataFolder {
    file: PathBuf,
    snapshots: Snapshots,
    /// The number of writes in the file.
    saved: Mutex<u64>,
    /// The number of items that came from the file.
    pub(super) n_loaded: usize,
    _lock: File,
}

impl DataFolder {
    /// Opens a folder, and stores the items of its file in an empty account. The containers with leases are left
    /// out.
    pub(super) async fn open(
        folder: &Path,
        endpoint: &CosmosEndpoint,
        database: &str,
        containers: &[ContainerProperties],
        leases: &BTreeSet<String>,
    ) -> anyhow::Result<Self> {
        let shown = folder.display();
        fs::create_dir_all(folder).with_context(|| format!("--data {shown}"))?;
        let lock = File::create(folder.join("lock")).with_context(|| format!("--data {shown}"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "--data {shown}: another cargo local uses this folder. End it, or choose another folder"
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("--data {shown}"));
            }
        }
        let kept = containers.iter().filter(|container| !leases.contains(container.id.as_ref()));
        let snapshots = Snapshots::new(endpoint, database, kept.cloned().collect()).await?;
        let file = folder.join(FILE);
        let n_loaded = load(&file, &snapshots).await?;
        let saved = Mutex::new(snapshots.writes());
        Ok(Self { file, snapshots, saved, n_loaded, _lock: lock })
    }

    /// Writes the file whenever something was written. Never ends; an error is shown once, until the next
    /// success.
    pub(super) async fn keep_saving(&self, console: &Console) -> ! {
        let mut has_failed = false;
        loop {
            sleep(INTERVAL).await;
            let saved = self.save().await;
            if let Err(error) = &saved
                && !has_failed
            {
                console.error(&format!("The data is not saved: {error:#}"));
            }
            has_failed = saved.is_err();
        }
    }

    /// Writes the file, if something was written since.
    pub(super) async fn save(&self) -> anyhow::Result<()> {
        let mut saved = self.saved.lock().await;
        if *saved == self.snapshots.writes() {
            return Ok(());
        }
        let (writes, containers) = self.snapshots.take().await?;
        let file = self.file.clone();
        spawn_blocking(move || {
            let mut text = Vec::new();
            for (container, item) in containers
                .iter()
                .flat_map(|(container, items)| items.iter().map(move |item| (container, item)))
            {
                serde_json::to_writer(&mut text, &ItemLine { container, item })?;
                text.push(b'\n');
            }
            replace(&file, &text).with_context(|| file.display().to_string())
        })
        .await??;
        *saved = writes;
        Ok(())
    }
}

async fn load(path: &Path, snapshots: &Snapshots) -> anyhow::Result<usize> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let lines = stream::iter(BufReader::new(file).lines().enumerate());
    let stored = lines.map(async |(n, line)| {
        let place = || format!("{}, line {}", path.display(), n + 1);
        let line = line.with_context(place)?;
        let ItemLine { container, item } =
            serde_json::from_str::<ItemLine<String, _>>(&line).with_context(|| {
                format!("{} has no item: correct it, or remove it to lose its item", place())
            })?;
        let properties = snapshots.container(&container).with_context(|| {
            format!(
                "{}: the app has no container '{container}': define it in infra/containers.json, or remove its lines",
                place()
            )
        })?;
        snapshots.put(properties, item).await.with_context(place)
    });
    let stored: Vec<bool> = stored.buffered(CONCURRENT).try_collect().await?;
    Ok(stored.into_iter().filter(|is_stored| *is_stored).count())
}

fn replace(file: &Path, text: &[u8]) -> std::io::Result<()> {
    let next = file.with_extension("jsonl.new");
    let mut written = File::create(&next)?;
    written.write_all(text)?;
    // The name must not point to a file that is not on the disk yet.
    written.sync_all()?;
    fs::rename(&next, file)
}
