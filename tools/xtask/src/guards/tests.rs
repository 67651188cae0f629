use std::path::Path;

use super::{
    labels::labels_in,
    paired,
    table::{GuardRow, rows},
};

/// Returns a file without its one guard.
fn without(file: &str, source: &str) -> anyhow::Result<String> {
    let labels = labels_in(Path::new(file), source)?;
    assert_eq!(labels.len(), 1);
    assert_eq!(labels[0].name, "a guard: of its own");
    labels[0].without(source)
}

/// Returns the last lines of a function's body without the guard, which is labelled above the first of
/// these lines.
#[track_caller]
fn body_without(replacement: &str, code: &str) -> String {
    let label = format!("// guard: a guard: of its own{replacement}\n");
    let start = format!("fn f() {{\n{label}");
    let changed = without("lib.rs", &format!("{start}{code}\n}}\n")).unwrap();
    changed.strip_prefix(&start).unwrap().strip_suffix("\n}\n").unwrap().trim().to_owned()
}

#[test]
fn code_without_a_replacement_is_removed() {
    assert_eq!(body_without("", "a(1)?;\nb();"), "b();");
    assert_eq!(body_without("", "if a {\nb()\n}\nc()"), "c()");
    assert_eq!(body_without("", "#[expect(x)]\nlet a = 1;\nb();"), "b();");
    assert_eq!(body_without("", "const A: u8 = 1;"), "");
}

#[test]
fn a_part_of_an_expression_is_removed() {
    let label = "// guard: a guard: of its own\n";
    for (before, guard, behind) in [
        ("match a {\n", "Some(b) if c => d,", "\n_ => e,\n}"),
        ("[\n", "a(b),", "\nc,\n]"),
        ("S {\na,\n", "b: c,", "\n..d\n}"),
        ("a(b)\n", ".c(|d| e)", "\n.f()"),
        ("if a\n", "&& b(c)", "\n|| d\n{\ne\n}"),
        ("if a\n", "&& !b(c)", "{\ne\n}"),
    ] {
        let source = format!("fn f() {{\n{before}{label}{guard}{behind}\n}}\n");
        let expected = format!("fn f() {{\n{before}{label}{behind}\n}}\n");
        assert_eq!(without("lib.rs", &source).unwrap(), expected);
    }
}

#[test]
fn a_replacement_takes_the_value() {
    let with = |code| body_without(" => `x(y)`", code);
    assert_eq!(with("a.b();"), "x(y);");
    assert_eq!(with("a = b;"), "x(y);");
    assert_eq!(with("let a: A = b(c)?;"), "let a: A = x(y);");
    assert_eq!(with("let Some(a) = b else { return };"), "let Some(a) = x(y) else { return };");
    assert_eq!(with("if a == b { c } else { d }"), "if x(y) { c } else { d }");
    assert_eq!(with("let e = if a { c } else { d };"), "let e = if x(y) { c } else { d };");
    assert_eq!(with("match a.b { _ => c }"), "match x(y) { _ => c }");
    assert_eq!(with("const A: u8 = 1;"), "const A: u8 = x(y);");
}

#[test]
fn an_arm_has_another_value_or_condition() {
    let source = |label: &str, arm: &str| {
        format!(
            "fn f() {{\nmatch a {{\n// guard: a guard: of its own => `{label}`\n{arm}\n}}\n}}\n"
        )
    };
    for (label, changed) in [("if false", "Some(b) if false => d,"), ("x", "Some(b) if c => x,")] {
        let arm = "Some(b) if c => d,";
        assert_eq!(without("lib.rs", &source(label, arm)).unwrap(), source(label, changed));
    }
}

#[test]
fn a_label_may_have_several_lines() {
    let labels =
        labels_in(Path::new("a.rs"), "// Why.\n  // guard: a =>\n  //     `{ b;\n  // c }`\nd\n");
    let labels = labels.unwrap();
    assert_eq!(
        (labels.len(), labels[0].name.as_str(), labels[0].place()),
        (1, "a", "a.rs:2".into())
    );
    assert!(labels_in(Path::new("a.rs"), "// guard: a => b\nc\n").is_err());
}

#[test]
fn other_files_lose_the_line_below() {
    let source = "a\n  // guard: a guard: of its own\n  b\nc\n";
    let changed = "a\n  // guard: a guard: of its own\n\nc\n";
    assert_eq!(without("a.bicep", source).unwrap(), changed);
}

#[test]
fn a_label_above_nothing_that_can_be_removed_is_an_error() {
    for code in ["} else {\nb();", ""] {
        let source = format!("fn f() {{\nif a {{\n// guard: a guard: of its own\n{code}\n}}\n}}\n");
        let error = without("lib.rs", &source).unwrap_err();
        assert!(error.to_string().starts_with("lib.rs:3: a guard: of its own"), "{error:#}");
    }
    let source = "fn f() -> u8 {\nlet a =\n// guard: a guard: of its own\n1;\na\n}\n";
    assert!(without("lib.rs", source).is_err(), "no Rust without it");
}

#[test]
fn each_row_has_one_label_and_each_label_one_row() {
    let label = |name: &str| labels_in(Path::new("a.rs"), &format!("// guard: {name}\n")).unwrap();
    let row = |name: &str| GuardRow { name: name.into(), tests: Vec::new() };
    let labels = [label("both"), label("twice"), label("twice"), label("no row")];
    let rows = ["both", "both", "twice", "no label"].map(row);
    let faults = paired(rows.into(), labels.into_iter().flatten().collect()).err().unwrap();
    for fault in [
        "docs/guards.md has two rows for \"both\"",
        "a.rs:1: another label has the name \"twice\", too",
        "a.rs:1: docs/guards.md has no row for \"no row\"",
        "docs/guards.md: no code is labelled with // guard: no label",
    ] {
        assert!(faults.to_string().contains(fault), "{faults}");
    }
}

#[test]
fn the_rows_of_all_tables_are_read() {
    let page = "| form | x |\n| --- | --- |\n| `a` | b |\n\n| guard | without it | held by |\n\
                | --- | --- | --- |\n| a | b | `c::d`, `c::e` |\n\n## f\n\n| guard | w | held by |\n\
                | --- | --- | --- |\n| g | h | `i` |\n";
    let rows: Vec<_> =
        rows(page).unwrap().into_iter().map(|GuardRow { name, tests }| (name, tests)).collect();
    let expected = [("a", vec!["c::d", "c::e"]), ("g", vec!["i"])];
    assert_eq!(rows.len(), 2);
    for ((name, tests), (expected_name, expected_tests)) in rows.iter().zip(expected) {
        assert_eq!((name.as_str(), tests.len()), (expected_name, expected_tests.len()));
        assert!(tests.iter().zip(expected_tests).all(|(one, other)| one == other));
    }
}
