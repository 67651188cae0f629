//! The declarations, imports and names of one module, as `syn` reads them.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::{
    Attribute, Field, ImplItemFn, Item, ItemUse, Macro, Meta, Path, UseTree, VisRestricted,
    visit::{self, Visit},
};

use crate::test_items::{is_test, is_test_item};

/// A module without its tests.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) children: Vec<Child>,
    /// The names of the items that it defines.
    pub(super) items: BTreeSet<String>,
    /// The names of its exported macros, which are at the root of the crate.
    pub(super) exported_macros: Vec<String>,
    pub(super) imports: Vec<Import>,
    pub(super) mentions: Vec<Mention>,
}

/// A module in a module.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) name: String,
    /// Its items, unless they are in a file of its own.
    pub(super) inline: Option<Source>,
}

/// A name that a `use` brings.
#[derive(Debug)]
pub(super) struct Import {
    /// None for all names (`*`).
    pub(super) name: Option<String>,
    pub(super) mention: Mention,
}

/// A path in its written form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
    /// A text of an attribute, which may name a module whose functions are called.
    pub(super) is_text: bool,
}

/// Reads a file.
pub(super) fn source(text: &str) -> syn::Result<Source> {
    Ok(module(&syn::parse_file(text)?.items))
}

fn module(items: &[Item]) -> Source {
    let mut source = Source::default();
    for item in items.iter().filter(|item| !is_test_item(item)) {
        match item {
            Item::Mod(child) => source.children.push(Child {
                name: child.ident.to_string(),
                inline: child.content.as_ref().map(|(_, items)| module(items)),
            }),
            item => {
                source.items.extend(name(item));
                if let (Some(name), true) = (name(item), is_exported_macro(item)) {
                    source.exported_macros.push(name);
                }
                source.visit_item(item);
            }
        }
    }
    source
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_item(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast Field) {
        if !is_test(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &mut Vec::new());
        }
    }

    /// `pub(in path)` names no item.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none()
            && let Some(last) = path.segments.last()
        {
            let names = path.segments.iter().map(|segment| segment.ident.to_string());
            let line = last.ident.span().start().line;
            self.mentions.push(Mention { path: names.collect(), line, is_text: false });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone(), &[], 1);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone(), &[], 2);
            self.texts(list.tokens.clone());
        }
    }
}

impl Source {
    /// Adds an import for each name of a `use` tree. `path` has the segments before the tree.
    fn import(&mut self, tree: &UseTree, path: &mut Vec<String>) {
        let (last, name) = match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.import(&part.tree, path);
                path.pop();
                return;
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, path);
                }
                return;
            }
            UseTree::Name(name) => (Some(&name.ident), Some(&name.ident)),
            UseTree::Rename(name) => (Some(&name.ident), Some(&name.rename)),
            UseTree::Glob(_) => (None, None),
        };
        let line = match tree {
            UseTree::Glob(glob) => glob.star_token.spans[0].start().line,
            _ => last.map_or(0, |ident| ident.span().start().line),
        };
        let mut path = path.clone();
        path.extend(last.filter(|last| *last != "self").map(ToString::to_string));
        let name = match name {
            Some(name) if name == "self" => path.last().cloned(),
            name => name.map(ToString::to_string),
        };
        self.imports.push(Import { name, mention: Mention { path, line, is_text: false } });
    }

    /// Finds the paths of at least `shortest` names in tokens.
    fn tokens(&mut self, stream: TokenStream, prefix: &[String], shortest: usize) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        // `pub(in path)` names no item.
        if matches!(tokens.first(), Some(TokenTree::Ident(first)) if first == "in") {
            return;
        }
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream(), &[], shortest),
                TokenTree::Ident(first) if begins_path(&tokens, at, first) => {
                    let mut path = prefix.to_vec();
                    path.push(first.to_string());
                    let mut line = first.span().start().line;
                    while is_separator(&tokens, at + 1) {
                        match tokens.get(at + 3) {
                            Some(TokenTree::Ident(next)) => {
                                path.push(next.to_string());
                                line = next.span().start().line;
                                at += 3;
                            }
                            Some(TokenTree::Group(group))
                                if group.delimiter() == Delimiter::Brace =>
                            {
                                self.tokens(group.stream(), &path, shortest);
                                at += 3;
                            }
                            _ => break,
                        }
                    }
                    if path.len() >= shortest {
                        self.mentions.push(Mention { path, line, is_text: false });
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Finds the paths in the string literals of an attribute.
    fn texts(&mut self, stream: TokenStream) {
        for token in stream {
            match token {
                TokenTree::Group(group) => self.texts(group.stream()),
                TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    let text = literal.to_string();
                    if let Ok(path) = syn::parse_str::<Path>(text.trim_matches('"'))
                        && path.segments.len() > 1
                    {
                        let names = path.segments.iter().map(|one| one.ident.to_string());
                        self.mentions.push(Mention { path: names.collect(), line, is_text: true });
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns false for a name that is part of another token by the signs before it: a field, a lifetime,
/// a variable of a macro, the rest of a path.
fn begins_path(tokens: &[TokenTree], at: usize, name: &Ident) -> bool {
    let sign = |back: usize| match tokens.get(at.checked_sub(back)?) {
        Some(TokenTree::Punct(sign)) => Some(sign.as_char()),
        _ => None,
    };
    match (sign(1), sign(2)) {
        (Some('$'), _) => name == "crate",
        (Some('.'), before) => before == Some('.'),
        (Some(':'), before) => before != Some(':'),
        (Some('\''), _) => false,
        _ => true,
    }
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon =
        |at| matches!(tokens.get(at), Some(TokenTree::Punct(sign)) if sign.as_char() == ':');
    is_colon(at) && is_colon(at + 1)
}

/// Returns the name that an item defines.
fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn is_exported_macro(item: &Item) -> bool {
    matches!(item, Item::Macro(one) if one.attrs.iter().any(|one| one.path().is_ident("macro_export")))
}
