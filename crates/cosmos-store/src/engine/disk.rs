//! The store's file: what a restart needs. Everything is in memory, and the file is read when it is opened.

use std::{collections::BTreeMap, io, path::Path, sync::Arc};

use redb::{
    Database, ReadableDatabase, ReadableTable, TableDefinition, TableError, WriteTransaction,
};

use super::{
    ContainerId,
    catalog::{Catalog, Container},
    feed::{self, Version},
    record::{Key, Record},
};

/// What is done with a row; `None` if it cannot be read.
type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Option<()>;

type Table<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;

/// A letter and a number → JSON: the catalog.
const META: Table<'static> = TableDefinition::new("meta");

/// A row of a container to be written or, without a value, removed.
pub(super) struct Row {
    pub container: ContainerId,
    pub kind: Kind,
    pub key: Key,
    pub value: Option<Vec<u8>>,
}

/// The tables of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Items,
    Versions,
}

fn name(container: ContainerId, kind: Kind) -> String {
    format!("{container}.{kind:?}")
}

/// The file's own cache is small: everything is in memory.
const CACHE_BYTES: usize = 32 << 20;

/// The open file.
#[derive(Debug)]
pub(super) struct Disk(Database);

impl Disk {
    pub(super) fn open(folder: &Path) -> io::Result<(Self, Option<Catalog>)> {
        std::fs::create_dir_all(folder)?;
        let file = folder.join("store.redb");
        let failed = |error: &dyn std::fmt::Display| {
            io::Error::other(format!("{}: {error}", file.display()))
        };
        if !file.exists() {
            create(&file).map_err(|error| failed(&error))?;
        }
        let database =
            Database::builder().set_cache_size(CACHE_BYTES).create(&file).map_err(|error| {
                match error {
                    redb::DatabaseError::DatabaseAlreadyOpen => io::Error::new(
                        io::ErrorKind::ResourceBusy,
                        format!("{} is in use by another process", file.display()),
                    ),
                    error => failed(&error),
                }
            })?;
        let catalog = read(&database).map_err(|error| failed(&error))?;
        Ok((Self(database), catalog))
    }

    /// Writes what a new state has, and waits until it is on the disk.
    pub(super) fn commit(
        &self,
        before: &Catalog,
        after: &Catalog,
        rows: &[Row],
    ) -> Result<(), redb::Error> {
        let meta = after.changed_since(before);
        if meta.is_empty() && rows.is_empty() {
            return Ok(());
        }
        let transaction = self.0.begin_write()?;
        write(&transaction, META, meta.iter().map(|(key, value)| (&**key, value.as_deref())))?;
        let mut tables = BTreeMap::<_, Vec<_>>::new();
        for row in rows.iter().filter(|row| after.containers.contains_key(&row.container)) {
            let rows = tables.entry((row.container, row.kind)).or_default();
            rows.push((&*row.key, row.value.as_deref()));
        }
        for ((container, kind), rows) in tables {
            write(&transaction, Table::new(&name(container, kind)), rows.into_iter())?;
        }
        for container in before.containers.keys().filter(|id| !after.containers.contains_key(id)) {
            for kind in [Kind::Items, Kind::Versions] {
                transaction.delete_table(Table::new(&name(*container, kind)))?;
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Creates an empty store under another name first: a kill at any moment leaves no file here that is half a store.
fn create(file: &Path) -> Result<(), redb::Error> {
    let new = file.with_extension(uuid::Uuid::new_v4().to_string());
    drop(Database::create(&new)?);
    // Not over the file that another process may have made meanwhile. Some file systems have no links.
    match std::fs::hard_link(&new, file) {
        Ok(()) => std::fs::remove_file(&new)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => std::fs::remove_file(&new)?,
        Err(_) => std::fs::rename(&new, file)?,
    }
    Ok(())
}

fn write<'a>(
    transaction: &WriteTransaction,
    table: Table<'_>,
    rows: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(table)?;
    for (key, value) in rows {
        match value {
            Some(value) => _ = table.insert(key, value)?,
            None => _ = table.remove(key)?,
        }
    }
    Ok(())
}

/// Reads a whole store; `None` of a new file.
fn read(database: &Database) -> Result<Option<Catalog>, redb::Error> {
    let transaction = database.begin_read()?;
    let corrupt = |what: &str| {
        redb::Error::Corrupted(format!(
            "{what} cannot be read: this is no file of this store, or of another version"
        ))
    };
    let rows = |table: Table<'_>, visit: Visit<'_>| match transaction.open_table(table) {
        Err(TableError::TableDoesNotExist(_)) => Ok(false),
        Err(error) => Err(redb::Error::from(error)),
        Ok(table) => {
            for row in table.iter()? {
                let (key, value) = row?;
                visit(key.value(), value.value()).ok_or_else(|| corrupt("a row"))?;
            }
            Ok(true)
        }
    };
    let mut meta = BTreeMap::new();
    let is_known = rows(META, &mut |key, value| {
        meta.insert(key.to_vec(), value.to_vec());
        Some(())
    })?;
    if !is_known {
        return match transaction.list_tables()?.next() {
            Some(_) => Err(corrupt("the catalog")),
            None => Ok(None),
        };
    }
    let mut catalog = Catalog::read(&meta).ok_or_else(|| corrupt("the catalog"))?;
    for (id, container) in &mut catalog.containers {
        let container: &mut Container = Arc::make_mut(container);
        rows(Table::new(&name(*id, Kind::Items)), &mut |key, value| {
            container.restore(key.into(), Record::read(value)?).ok()
        })?;
        if container.definition.retention_minutes.is_none() {
            continue;
        }
        rows(Table::new(&name(*id, Kind::Versions)), &mut |key, value| {
            container.versions.insert(feed::version_key(key)?, Arc::new(Version::read(value)?));
            Some(())
        })?;
    }
    Ok(Some(catalog))
}
