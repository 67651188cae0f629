//! Items that only tests have.

use proc_macro2::TokenTree;
use syn::{Attribute, Item, Meta};

/// Returns true for an item under `#[cfg(test)]`.
pub(crate) fn is_test_item(item: &Item) -> bool {
    is_test(attributes(item))
}

/// Returns true for `#[cfg(test)]` and `#[cfg(all(test, …))]`.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if attribute.path().is_ident("cfg") => {
            let mut tokens = list.tokens.clone().into_iter();
            match (tokens.next(), tokens.next()) {
                (Some(TokenTree::Ident(only)), None) => only == "test",
                (Some(TokenTree::Ident(all)), Some(TokenTree::Group(group))) if all == "all" => {
                    group
                        .stream()
                        .into_iter()
                        .any(|token| matches!(token, TokenTree::Ident(one) if one == "test"))
                }
                _ => false,
            }
        }
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
