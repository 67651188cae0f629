//! The modules of a crate, and the targets of the paths in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::Context;

use super::{
    arrows::{Arrow, File},
    source::{self, Mention, Source},
};

/// All modules of a crate; the first one is its root.
pub(super) struct Modules {
    all: Vec<Module>,
    /// The exported macros, with the modules that define them.
    macros: BTreeMap<String, usize>,
}

struct Module {
    parent: usize,
    file: File,
    children: BTreeMap<String, usize>,
    source: Source,
}

/// The target of a path.
#[derive(Clone, Copy)]
enum PathTarget {
    Module(usize),
    /// An item of this module.
    Item(usize),
}

/// A function that reads a file, if it exists.
type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

impl Modules {
    /// Reads a crate from the file of its root.
    pub(super) fn read_crate(root: &Path, read: Read<'_>) -> anyhow::Result<Self> {
        let mut modules = Self { all: Vec::new(), macros: BTreeMap::new() };
        let folder = root.parent().unwrap_or(Path::new(""));
        modules.add_file(0, root, folder, Vec::new(), read)?;
        Ok(modules)
    }

    /// Returns the arrows between files, in the order of the files and lines.
    pub(super) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows = BTreeSet::new();
        for (at, module) in self.all.iter().enumerate() {
            let imports = module.source.imports.iter().map(|import| &import.mention);
            let mentions = imports.chain(&module.source.mentions);
            let named = mentions.filter_map(|mention| self.arrow(at, mention));
            // A module contains the modules in it.
            arrows.extend(named.filter(|one| !one.to.module.starts_with(&one.from.module)));
        }
        arrows.into_iter().collect()
    }

    fn arrow(&self, at: usize, mention: &Mention) -> Option<Arrow> {
        let from = &self.all[at].file;
        let to = match self.resolve(at, &mention.path, false, &mut BTreeSet::new())? {
            PathTarget::Item(to) => to,
            PathTarget::Module(to) if mention.is_text => to,
            // A use of an item of the module is a path of its own.
            PathTarget::Module(_) => return None,
        };
        let to = &self.all[to].file;
        (to != from).then(|| Arrow {
            from: from.clone(),
            to: to.clone(),
            line: mention.line,
            named: mention.path.join("::"),
        })
    }

    /// Parses a file, and adds its module and the modules below it. `folder` has the files of the latter.
    fn add_file(
        &mut self,
        parent: usize,
        path: &Path,
        folder: &Path,
        module: Vec<String>,
        read: Read<'_>,
    ) -> anyhow::Result<usize> {
        let text = read(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let source = source::source(&text)
            .with_context(|| format!("{} cannot be parsed", path.display()))?;
        let file = File { path: path.to_owned(), module };
        self.add(parent, &file, folder, source, read)
    }

    /// Adds a module and its children, whose files are in `folder`.
    fn add(
        &mut self,
        parent: usize,
        file: &File,
        folder: &Path,
        mut source: Source,
        read: Read<'_>,
    ) -> anyhow::Result<usize> {
        let at = self.all.len();
        self.macros.extend(source.exported_macros.iter().map(|name| (name.clone(), at)));
        let children = std::mem::take(&mut source.children);
        self.all.push(Module { parent, file: file.clone(), children: BTreeMap::new(), source });
        for child in children {
            let below = folder.join(&child.name);
            let added = if let Some(source) = child.inline {
                self.add(at, file, &below, source, read)?
            } else {
                let beside = folder.join(format!("{}.rs", child.name));
                let path = if read(&beside).is_some() { beside } else { below.join("mod.rs") };
                let module = [&file.module[..], std::slice::from_ref(&child.name)].concat();
                self.add_file(at, &path, &below, module, read)?
            };
            self.all[at].children.insert(child.name, added);
        }
        Ok(at)
    }

    /// Finds the target of a path in a module; `None` for other crates. With `goes_on` more of the path
    /// follows, so the name means a module even if a function has the same name.
    fn resolve<'a>(
        &'a self,
        mut at: usize,
        path: &'a [String],
        goes_on: bool,
        seen: &mut BTreeSet<(usize, &'a str)>,
    ) -> Option<PathTarget> {
        let mut named = None;
        for (position, name) in path.iter().enumerate() {
            let goes_on = goes_on || position + 1 < path.len();
            let next = match (name.as_str(), named) {
                ("crate", None) => PathTarget::Module(0),
                ("self", None) => PathTarget::Module(at),
                ("super", _) => PathTarget::Module(self.all[at].parent),
                (name, None) => self.find(at, name, goes_on, seen)?,
                // A generated item belongs to the file of the macro call.
                (name, Some(PathTarget::Module(at))) => {
                    self.find(at, name, goes_on, seen).unwrap_or(PathTarget::Item(at))
                }
                (_, Some(PathTarget::Item(_))) => break,
            };
            if let PathTarget::Module(next) = next {
                at = next;
            }
            named = Some(next);
        }
        named
    }

    /// Finds a name in a module.
    fn find<'a>(
        &'a self,
        at: usize,
        name: &'a str,
        goes_on: bool,
        seen: &mut BTreeSet<(usize, &'a str)>,
    ) -> Option<PathTarget> {
        let module = &self.all[at];
        let child = module.children.get(name).copied().map(PathTarget::Module);
        if child.is_some() && goes_on {
            return child;
        }
        if module.source.items.contains(name) {
            return Some(PathTarget::Item(at));
        }
        if !seen.insert((at, name)) {
            return child;
        }
        let imports = &module.source.imports;
        let mut named = imports.iter().filter(|import| import.name.as_deref() == Some(name));
        let named = named.find_map(|one| self.resolve(at, &one.mention.path, goes_on, seen));
        let from_globs = || {
            imports.iter().filter(|import| import.name.is_none()).find_map(|import| {
                match self.resolve(at, &import.mention.path, true, &mut seen.clone())? {
                    PathTarget::Module(from) if from != at => {
                        self.find(from, name, goes_on, &mut seen.clone())
                    }
                    _ => None,
                }
            })
        };
        let from_macros = || {
            let module = self.macros.get(name).filter(|_| at == 0)?;
            Some(PathTarget::Item(*module))
        };
        named.or(child).or_else(from_globs).or_else(from_macros)
    }
}
