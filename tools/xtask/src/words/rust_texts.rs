//! The texts of a Rust file, and the names of its types and functions.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{
    ImplItemFn, Item, ItemEnum, ItemFn, ItemStruct, ItemTrait, ItemType, TraitItemFn,
    visit::{self, Visit},
};

use super::phrases::{ReadableText, TextLine, spaced_name};
use crate::test_items::{is_test, is_test_item};

/// The texts and names of one file.
#[derive(Default)]
pub(super) struct RustTexts {
    pub(super) docs: Vec<ReadableText>,
    /// Comments, literals with a space in them, and names of items with a space between their words.
    pub(super) others: Vec<ReadableText>,
    /// Structs, enums, traits and aliases, without those of tests.
    pub(super) types: Vec<NamedItem>,
    /// Functions and methods with a body, without those of tests.
    pub(super) functions: Vec<NamedItem>,
}

pub(super) struct NamedItem {
    pub(super) name: String,
    pub(super) line: usize,
}

impl RustTexts {
    /// Reads a file.
    pub(super) fn read(source: &str) -> syn::Result<Self> {
        let mut names = ItemNames::default();
        let tokens: TokenStream = source.parse()?;
        names.visit_file(&syn::parse2(tokens.clone())?);
        let mut walk = TokenWalk { source, ..TokenWalk::default() };
        walk.tokens(tokens);
        walk.comments_before(source.len());
        let ItemNames { types, functions } = names;
        Ok(Self { docs: walk.docs, others: walk.others, types, functions })
    }
}

/// Comments are no tokens: they are in the gaps between two tokens.
#[derive(Default)]
struct TokenWalk<'a> {
    source: &'a str,
    docs: Vec<ReadableText>,
    others: Vec<ReadableText>,
    /// The end of the last token.
    end: usize,
    last_name: String,
}

/// The words before the name of an item.
const KEYWORDS: [&str; 7] = ["const", "enum", "fn", "static", "struct", "trait", "type"];

impl TokenWalk<'_> {
    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    self.pass(group.span_open());
                    self.tokens(group.stream());
                    self.pass(group.span_close());
                }
                TokenTree::Ident(name) => {
                    self.pass(name.span());
                    let text = name.to_string();
                    if KEYWORDS.contains(&self.last_name.as_str()) {
                        let line = name.span().start().line;
                        self.others.push(ReadableText::one_line(line, spaced_name(&text)));
                    }
                    self.last_name = text;
                }
                TokenTree::Literal(literal) => {
                    self.literal(literal.span());
                    self.pass(literal.span());
                }
                TokenTree::Punct(sign) => {
                    self.pass(sign.span());
                    self.last_name.clear();
                }
            }
        }
    }

    /// Reads the gap before a token.
    fn pass(&mut self, token: Span) {
        let range = token.byte_range();
        self.comments_before(range.start);
        self.end = self.end.max(range.end);
    }

    fn comments_before(&mut self, start: usize) {
        let gap = self.source.get(self.end..start).unwrap_or_default();
        if !gap.contains("//") {
            return;
        }
        let first = self.source[..self.end].matches('\n').count() + 1;
        let lines = gap.lines().enumerate().filter_map(|(at, line)| {
            let (_, text) = line.split_once("//")?;
            Some(TextLine { number: first + at, text: text.trim().to_owned() })
        });
        self.others.push(ReadableText { lines: lines.collect() });
    }

    fn literal(&mut self, span: Span) {
        let text = self.source.get(span.byte_range()).unwrap_or_default();
        let number = span.start().line;
        let doc = text.strip_prefix("///").or_else(|| text.strip_prefix("//!"));
        if let Some(doc) = doc {
            self.doc_line(TextLine { number, text: doc.trim().to_owned() });
        } else if text.starts_with(['"', 'r']) && text.contains(' ') {
            let lines = text.lines().enumerate();
            let lines = lines
                .map(|(at, line)| TextLine { number: number + at, text: without_arguments(line) });
            self.others.push(ReadableText { lines: lines.collect() });
        }
    }

    /// Adds a line to the doc comment that ends in the line before, or begins one.
    fn doc_line(&mut self, line: TextLine) {
        match self.docs.last_mut() {
            Some(doc) if doc.lines.last().is_some_and(|last| last.number + 1 == line.number) => {
                doc.lines.push(line);
            }
            _ => self.docs.push(ReadableText { lines: vec![line] }),
        }
    }
}

/// Removes the arguments of a format string: `{name}` is code.
fn without_arguments(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| match part.split_once('}') {
        Some((argument, rest)) if !argument.contains(' ') => kept + " " + rest,
        _ => kept + " " + part,
    })
}

#[derive(Default)]
struct ItemNames {
    types: Vec<NamedItem>,
    functions: Vec<NamedItem>,
}

impl NamedItem {
    fn new(name: &syn::Ident) -> Self {
        Self { name: name.to_string(), line: name.span().start().line }
    }
}

impl<'ast> Visit<'ast> for ItemNames {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_item(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.types.push(NamedItem::new(&item.ident));
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.types.push(NamedItem::new(&item.ident));
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.types.push(NamedItem::new(&item.ident));
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.types.push(NamedItem::new(&item.ident));
        visit::visit_item_trait(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.functions.push(NamedItem::new(&item.sig.ident));
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            self.functions.push(NamedItem::new(&item.sig.ident));
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if item.default.is_some() {
            self.functions.push(NamedItem::new(&item.sig.ident));
        }
    }
}
