use std::path::Path;

use super::{findings::Findings, rust_texts::RustTexts, sample::sample, table::WordTable};

const TABLE: &str = r#"
held = ["a"]
core = ["dead gadget"]

[[avoided]]
words = ["gadget"]
except = ["dead gadget", "gadget or digit"]
instead = "dead gadget"
reason = "a gadget is a character"

[[avoided]]
words = ["do over"]
instead = "retry"
reason = "the field's word"
"#;

/// Returns the faults of an area of these sources.
fn faults_with(table: &str, sources: &[&str]) -> Vec<String> {
    let table = WordTable::read(table).unwrap();
    let mut findings = Findings::default();
    for (at, source) in sources.iter().enumerate() {
        let path = format!("a/src/{at}.rs");
        findings.add_rust("a", Path::new(&path), &RustTexts::read(source).unwrap(), &table);
    }
    findings.add_repeated_type_names();
    findings.faults(&table)
}

fn faults(sources: &[&str]) -> Vec<String> {
    faults_with(TABLE, sources)
}

#[test]
fn an_avoided_word_is_found_in_each_kind_of_text() {
    let source = r#"
        /// A gadget.
        struct DeadGadget; // a gadget
        /* not read */
        fn f() { log("a gadget", 'l', "gadget"); }
        fn gadget_of() {}
        // Do
        // over.
    "#;
    let expected = ["0.rs:2", "0.rs:3", "0.rs:5", "0.rs:6", "0.rs:7"];
    let found = faults(&[source]);
    let mut places: Vec<&str> = found.iter().map(|fault| &fault["a/src/".len()..][..6]).collect();
    places.sort_unstable();
    assert_eq!(places, expected, "{found:#?}");
    assert!(
        found[0].contains("\"gadget\": write dead gadget: a gadget is a character"),
        "{found:#?}"
    );
}

#[test]
fn an_avoided_word_in_code_or_in_another_meaning_is_not_found() {
    let source = r#"
        /// A dead
        /// gadget, a gadget or digit, and `gadget`.
        fn f() { g("gadget", "a `gadget`", "a {gadget}"); let gadget = 1; }
    "#;
    assert_eq!(faults(&[source]), [""; 0]);
}

#[test]
fn an_allowance_without_a_finding_is_a_fault() {
    let allowed = |file: &str| {
        let word = "word = \"gadget\"\nreason = \"the user's alphabet\"";
        format!("{TABLE}\n[[allowed]]\nfile = \"{file}\"\n{word}\n")
    };
    let sources = ["// A gadget."];
    assert_eq!(faults(&sources).len(), 1);
    assert_eq!(faults_with(&allowed("a/src/0.rs"), &sources), [""; 0]);
    let found = faults_with(&allowed("a/src/1.rs"), &sources);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[1].contains("nothing needs \"gadget\""), "{found:#?}");
}

#[test]
fn more_than_two_percent_of_noun_clauses_are_a_fault() {
    let good = "/// Returns a name.\n/// What it means.\nfn f() {}\n".repeat(49);
    let clause = "/// What it is.\nfn g() {}\n";
    assert_eq!(faults(&[&good, clause]), [""; 0]);
    let found = faults(&[&good, clause, clause]);
    let places = ["a/src/1.rs:1", "a/src/2.rs:1"];
    assert!(found[0].contains("2 of 51 doc comments"), "{found:#?}");
    assert!(
        found[1..].iter().zip(places).all(|(fault, place)| fault.starts_with(place)),
        "{found:#?}"
    );
}

#[test]
fn a_third_type_of_a_name_is_a_fault_and_one_of_a_test_does_not_count() {
    let kinds = ["struct Place;", "enum Place {}", "#[cfg(test)] mod t { trait Place {} }"];
    assert_eq!(faults(&kinds), [""; 0]);
    let found = faults(&["struct Place;", "enum Place {}", "\ntype Place = u8;"]);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[2].starts_with("a/src/2.rs:2: 3 types are named `Place`"), "{found:#?}");
}

#[test]
fn a_long_page_and_a_core_word_without_a_definition_are_faults() {
    let table = WordTable::read(TABLE).unwrap();
    let faults = |page: &str, glossary: &str| {
        let mut findings = Findings::default();
        findings.add_page("a", Path::new("a/README.md"), page, &table);
        findings.add_missing_core_words("a", Path::new("glossary.md"), glossary, &table);
        findings.faults(&table)
    };
    let page = "word ".repeat(4000);
    assert_eq!(faults(&page, "| DLQ, dead gadget | a change |"), [""; 0]);
    let found = faults(&format!("{page} word"), "| gadget | a dead gadget |");
    assert!(found[0].contains("4001 words; a page has at most 4000"), "{found:#?}");
    assert!(found[1].contains("the glossary does not define \"dead gadget\""), "{found:#?}");
}

#[test]
fn blocks_of_code_and_targets_of_links_are_no_text_of_a_page() {
    let table = WordTable::read(TABLE).unwrap();
    let mut findings = Findings::default();
    let page = "[Page](gadget.md)\n```\ngadget\n```\na\ngadget\n";
    findings.add_page("a", Path::new("a/README.md"), page, &table);
    let found = findings.faults(&table);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("a/README.md:6: "), "{found:#?}");
}

#[test]
fn an_area_that_is_not_held_has_no_faults() {
    let table = TABLE.replace("held = [\"a\"]", "held = []");
    assert_eq!(faults_with(&table, &["// A gadget."]), [""; 0]);
}

#[test]
fn a_seed_repeats_its_sample() {
    let values: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    assert_eq!(sample(&values, 30, 7), sample(&values, 30, 7));
    assert_ne!(sample(&values, 30, 7), sample(&values, 30, 8));
    assert_eq!(sample(&values, 30, 7).len(), 30);
}
