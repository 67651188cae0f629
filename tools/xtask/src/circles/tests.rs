use std::path::Path;

use super::{arrows::Arrow, faults_of, layers, modules::Modules};

/// Returns the arrows of a crate of these files, whose root is the first one.
fn arrows(files: &[(&str, &str)]) -> Vec<Arrow> {
    let read = |path: &Path| {
        let file = files.iter().find(|(name, _)| Path::new(name) == path);
        file.map(|(_, text)| (*text).to_owned())
    };
    Modules::read_crate(Path::new(files[0].0), &read).unwrap().arrows()
}

fn faults(package: &str, files: &[(&str, &str)]) -> Vec<String> {
    faults_of(package, &arrows(files), Path::new(""))
}

/// Returns the lines of `from` with an arrow, and the names and files that they lead to.
fn named(files: &[(&str, &str)], from: &str) -> Vec<(usize, String, String)> {
    let arrows = arrows(files).into_iter().filter(|arrow| arrow.from.path == Path::new(from));
    let mut named: Vec<_> = arrows
        .map(|arrow| (arrow.line, arrow.named, arrow.to.path.display().to_string()))
        .collect();
    named.sort();
    named
}

#[test]
fn a_path_is_found_wherever_it_stands() {
    let a = r#"
        use crate::{
            b::{One, Two as Other}, // crate::c::InAComment
            c,
        };
        fn f(_: c::Three) -> &'static str { let _ = crate::b::four::<u8>(); "crate::c::InAText" }
        json!({ "key": [super::b::FIVE, c::six(), x.seven, ..c::MAX, <T>::c::no()] });
        #[serde(with = "crate::c::eight")]
        struct S;
        macro_rules! m { ($x:ident) => { $crate::b::Nine; use crate::c::{Ten}; $x::eleven() } }
        pub(in crate::b) fn g(&self) { self.b(); std::b::f(); }
        mod inner { use super::super::b::Twelve; fn f() { super::own(); } }
        fn own() { use crate::c::Thirteen; }
    "#;
    let files = [
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", a),
        (
            "src/b.rs",
            "struct One; struct Two; fn four() {} const FIVE: u8 = 1; struct Nine; struct Twelve;",
        ),
        (
            "src/c.rs",
            "struct Three; fn six() {} const MAX: u8 = 1; fn no() {} mod eight { } struct Ten; struct Thirteen;",
        ),
    ];
    let found: Vec<_> = named(&files, "src/a.rs");
    let found: Vec<_> = found.iter().map(|(line, name, _)| (*line, name.as_str())).collect();
    let expected = [
        (3, "crate::b::One"),
        (3, "crate::b::Two"),
        (6, "c::Three"),
        (6, "crate::b::four"),
        (7, "c::MAX"),
        (7, "c::six"),
        (7, "super::b::FIVE"),
        (8, "crate::c::eight"),
        (10, "crate::b::Nine"),
        (10, "crate::c::Ten"),
        (12, "super::super::b::Twelve"),
        (13, "crate::c::Thirteen"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_path_in_an_attribute_is_found() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "struct S { #[serde(with = \"crate::b::text\", default = \"now\")] at: u8 }"),
        ("b.rs", "pub fn text() {} fn now() {}"),
    ];
    assert_eq!(named(&files, "a.rs"), [(1, "crate::b::text".into(), "b.rs".into())]);
}

#[test]
fn a_re_export_is_followed_to_the_definition() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use b::c::Deep as Renamed;"),
        (
            "a.rs",
            "use crate::Renamed;\nuse crate::b::Shallow;\nuse crate::b::both;\nuse crate::b::all;",
        ),
        (
            "b/mod.rs",
            "pub mod c; mod d; mod both; pub use c::Shallow; pub use both::both; pub use d::*;",
        ),
        ("b/c.rs", "pub struct Deep; pub struct Shallow;"),
        ("b/d.rs", "pub fn all() {}"),
        ("b/both.rs", "pub fn both() {}"),
    ];
    let found = named(&files, "a.rs");
    let found: Vec<_> = found.iter().map(|(_, _, file)| file.as_str()).collect();
    assert_eq!(found, ["b/c.rs", "b/c.rs", "b/both.rs", "b/d.rs"]);
}

#[test]
fn an_exported_macro_is_where_it_is_defined() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "crate::checked!(Name);"),
        ("b.rs", "#[macro_export] macro_rules! checked { () => {} }"),
    ];
    assert_eq!(named(&files, "a.rs"), [(1, "crate::checked".into(), "b.rs".into())]);
}

#[test]
fn a_circle_of_files_is_found_with_a_line_for_each_arrow() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "\nuse crate::b::B;\npub struct A;"),
        ("b.rs", "use crate::c::C;\npub struct B;"),
        ("c.rs", "pub struct C;\nfn f(_: super::a::A, _: super::d::D) {}"),
        ("d.rs", "pub struct D;"),
    ];
    let found = [
        "a circle of 3 files:",
        "  a.rs:2: `crate::b::B` is in b.rs",
        "  b.rs:1: `crate::c::C` is in c.rs",
        "  c.rs:2: `super::a::A` is in a.rs",
    ];
    assert_eq!(faults("any", &files), [found.join("\n")]);
}

#[test]
fn a_parent_and_its_children_are_no_circle_and_neither_are_tests() {
    let files = [
        ("lib.rs", "mod a; mod e; pub use a::Child;"),
        ("a/mod.rs", "mod b; mod c; pub use b::Child; use c::f; pub struct Parent(Child);"),
        (
            "a/b.rs",
            "use super::Parent; pub struct Child;\n#[cfg(test)] mod tests { use super::super::c; fn t() { c::f(); } }",
        ),
        ("a/c.rs", "use super::Child; pub fn f() {}\n#[cfg(test)] use crate::e::E;"),
        ("e.rs", "use crate::Child; pub struct E;"),
    ];
    assert_eq!(faults("any", &files), [""; 0]);
}

#[test]
fn a_circle_through_a_parent_is_found() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod child; use crate::b::B; pub struct Parent;"),
        ("a/child.rs", "pub struct Child(super::Parent);"),
        ("b.rs", "pub struct B(crate::a::child::Child);"),
    ];
    let found = faults("any", &files);
    assert!(found[0].starts_with("a circle of 3 files:"), "{found:?}");
}

#[test]
fn folders_that_import_each_other_are_a_circle_though_no_file_is_in_one() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod one; pub mod two;"),
        ("a/one.rs", "use crate::b::one::B;"),
        ("a/two.rs", "pub struct A;"),
        ("b/mod.rs", "pub mod one; mod two;"),
        ("b/one.rs", "pub struct B;"),
        ("b/two.rs", "use crate::a::two::A;"),
    ];
    let found = faults("any", &files);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("a circle of 2 modules:"), "{found:?}");
}

#[test]
fn layers_and_domains_are_kept_apart() {
    let files = |low: &'static str, high: &'static str| {
        [
            ("lib.rs", "mod cosmos; mod http; mod blog; mod news;"),
            ("cosmos.rs", low),
            ("http.rs", high),
            ("blog.rs", "pub struct Post;"),
            ("news.rs", "use crate::blog::Post;"),
        ]
    };
    let allowed = |package: &str, files: &[(&str, &str)], from: &str| {
        let arrows = arrows(files);
        let arrow = arrows.iter().find(|arrow| arrow.from.module == [from]).unwrap();
        layers::is_allowed(package, arrow)
    };
    let down = files("pub struct ETag;", "use crate::cosmos::ETag;");
    let up = files("use crate::http::Problem;", "pub struct Problem;");
    assert!(allowed("tributary-functions", &down, "http"));
    assert!(!allowed("tributary-functions", &up, "cosmos"));
    assert!(!allowed("tributary", &up, "news"));
    assert!(!allowed("tributary-functions", &up, "news"), "a module without a layer");
    assert!(allowed("tributary-local", &up, "cosmos"));
}
