//! The types of a domain: where they are, and the examples of checked texts.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, ItemMacro};

use crate::scaffold::app::{AppFolder, DomainFolder, SourceFile};

/// Returns the files of a domain.
pub(crate) fn files(app: &AppFolder, domain: &DomainFolder) -> anyhow::Result<Vec<SourceFile>> {
    let mut files = app.sources(&domain.folder)?;
    if !domain.file.starts_with(&domain.folder) {
        files.extend(app.sources(&domain.file)?);
    }
    Ok(files)
}

/// Returns the module of a domain that has or exports a type, as the domain's own files name it.
pub(crate) fn module_of(domain: &DomainFolder, files: &[SourceFile], name: &str) -> Option<String> {
    let defines = |item: &Item| match item {
        Item::Enum(one) => one.ident == name,
        Item::Struct(one) => one.ident == name,
        Item::Macro(one) => checked_texts(one).iter().any(|(own, _)| own == name),
        _ => false,
    };
    let file = files.iter().find(|file| file.tree.items.iter().any(defines))?;
    let inside = file.path.strip_prefix(&domain.folder).unwrap_or(Path::new("mod.rs"));
    let first = inside.with_extension("");
    let first = first.iter().next()?.to_str()?;
    Some(if first == "mod" { "super".to_owned() } else { format!("super::{first}") })
}

/// Returns the types of a `checked_text!`, with their examples.
pub(crate) fn checked_texts(one: &ItemMacro) -> Vec<(String, String)> {
    if one.mac.path.segments.last().is_none_or(|last| last.ident != "checked_text") {
        return Vec::new();
    }
    let mut types = Vec::new();
    let mut name = None;
    let tokens: TokenStream = one.mac.tokens.clone();
    let mut is_begin = true;
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' => is_begin = true,
            TokenTree::Ident(ident) if is_begin => {
                name = Some(ident.to_string());
                is_begin = false;
            }
            TokenTree::Literal(literal) => {
                let example = literal.to_string().trim_matches('"').to_owned();
                types.extend(name.take().map(|name| (name, example)));
            }
            _ => {}
        }
    }
    types
}
