//! A Bicep file as a syntax tree.

use std::fs;

use tree_sitter::{Node, Parser, Tree};

use super::{root, text};

pub(super) struct Bicep {
    path: String,
    text: String,
    tree: Tree,
}

pub(super) fn bicep_files() -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec!["infra".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap().map(Result::unwrap) {
            let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if entry.path().extension().is_some_and(|extension| extension == "bicep") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

impl Bicep {
    pub(super) fn read(path: &str) -> Self {
        let text = text(path);
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_bicep::LANGUAGE.into()).unwrap();
        let tree = parser.parse(&text, None).unwrap();
        Self { path: path.to_owned(), text, tree }
    }

    /// Returns the places of syntax errors, as `file:line`.
    pub(super) fn syntax_errors(&self) -> Vec<String> {
        let broken = self.nodes().into_iter().filter(|node| node.is_error() || node.is_missing());
        broken.map(|node| format!("{}:{}", self.path, node.start_position().row + 1)).collect()
    }

    /// Declarations at the top of the file, of a kind of the grammar's.
    pub(super) fn declarations(&self, kind: &str) -> Vec<Node<'_>> {
        children(self.tree.root_node()).into_iter().filter(|node| node.kind() == kind).collect()
    }

    pub(super) fn name(&self, declaration: Node<'_>) -> &str {
        self.text_of(self.only(declaration, "identifier"))
    }

    pub(super) fn only<'a>(&'a self, node: Node<'a>, kind: &str) -> Node<'a> {
        let mut found = children(node).into_iter().filter(|child| child.kind() == kind);
        found.next().unwrap_or_else(|| panic!("{}: no {kind} in {}", self.path, self.text_of(node)))
    }

    pub(super) fn nodes(&self) -> Vec<Node<'_>> {
        below(self.tree.root_node())
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    /// The text of a string literal without its quotes.
    pub(super) fn string(&self, node: Node<'_>) -> String {
        self.text_of(node).trim_matches('\'').replace("\\'", "'")
    }
}

pub(super) fn below(node: Node<'_>) -> Vec<Node<'_>> {
    let mut found = vec![node];
    let mut next = 0;
    while next < found.len() {
        let mut cursor = found[next].walk();
        found.extend(found[next].children(&mut cursor).collect::<Vec<_>>());
        next += 1;
    }
    found
}

/// The children without brackets, commas and keywords.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}
