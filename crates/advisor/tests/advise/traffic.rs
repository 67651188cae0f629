//! Requests from measured traffic.

use serde_json::{Value, json};

use crate::posts;

const EXPORT: &str = "\
TimeGenerated,OperationName,CollectionName,Requests,RequestCharge
2026-11-20T00:00:00Z,Read,posts,40000,40000
2026-11-20T00:00:00Z,Query,posts,12000,60000
2026-11-20T00:00:00Z,Create,posts,200,1700
";

const TEXTS: &str = r#"[
{"TimeGenerated": "2026-11-20T00:00:00Z", "CollectionName": "posts", "count_": 100, "QueryText": "SELECT * FROM c WHERE c.userId = @user ORDER BY c.createdAt DESC"},
{"TimeGenerated": "2026-11-20T00:00:00Z", "CollectionName": "posts", "count_": 20, "QueryText": "SELECT * FROM c WHERE c.tag = @tag"}
]"#;

#[test]
fn a_year_of_traffic_is_advice_without_requests() {
    let folder = posts::folder().with("export.csv", EXPORT).with("texts.json", TEXTS);
    let output = folder.advise(&[
        "--items",
        "items.jsonl",
        "--traffic",
        "export.csv",
        "texts.json",
        "--current",
        "/userId",
        "--container",
        "posts",
        "--write-requests",
        "derived.jsonl",
    ]);
    assert!(output.code < 2, "{}", output.err);
    insta::assert_snapshot!(folder.read("derived.jsonl"));
    assert!(output.out.contains("Measured traffic"), "{}", output.out);
    assert!(output.out.contains("5 rows of 1.0 days"), "{}", output.out);
    // --requests reads the derived requests.
    let again = folder.advise(&[
        "--items",
        "items.jsonl",
        "--requests",
        "derived.jsonl",
        "--current",
        "/userId",
        "--container",
        "posts",
    ]);
    assert!(again.code < 2, "{}", again.err);
    assert!(output.out.starts_with(&again.out), "{}\n{}", output.out, again.out);
}

/// A measured query cannot be misspelt: its property may be gone.
#[test]
fn a_measured_query_by_a_property_that_no_item_has_is_told_and_not_refused() {
    let texts = TEXTS.replace("c.tag = @tag", "c.deleted = @deleted");
    let folder = posts::folder().with("export.csv", EXPORT).with("texts.json", &texts);
    let output = folder.advise(&[
        "--items",
        "items.jsonl",
        "--traffic",
        "export.csv",
        "texts.json",
        "--current",
        "/userId",
    ]);
    assert!(output.code < 2, "{}", output.err);
    assert!(
        output.out.contains("/deleted 0 % (the request \"query by /deleted\")"),
        "{}",
        output.out
    );
    let refused = folder.advise(&[
        "--items",
        "items.jsonl",
        "--traffic",
        "export.csv",
        "texts.json",
        "--candidate",
        "/deleted",
    ]);
    assert!(refused.code == 2 && refused.err.contains("no item has /deleted"), "{}", refused.err);
}

/// A text with OR counts as a scan. The export has the charges of its queries.
#[test]
fn charges_are_compared_with_the_estimates() {
    let export = EXPORT.replace("Query,posts,12000,60000", "Query,posts,12000,36000");
    let texts = r#"{"TimeGenerated": "2026-11-20T00:00:00Z", "CollectionName": "posts", "QueryText": "SELECT * FROM c WHERE c.userId = @a OR c.userId = @b"}"#;
    let folder = posts::folder().with("export.csv", &export).with("texts.json", texts);
    let output = folder.advise(&[
        "--items",
        "items.jsonl",
        "--traffic",
        "export.csv",
        "texts.json",
        "--current",
        "/userId",
        "--container",
        "posts",
    ]);
    assert!(output.code < 2, "{}", output.err);
    let same = "Operation read: charged 40,000 RU a day, estimated for /userId 40,000, the same within the error.";
    assert!(output.out.contains(same), "{}", output.out);
    assert!(output.out.contains("Operation query: charged 36,000 RU a day"), "{}", output.out);
    assert!(output.out.contains("times as much: a filter is missing"), "{}", output.out);
}

/// The tables of texts and of charges have the same requests, and only together they tell what a text was
/// charged. The rows of a request may come in any order.
#[test]
fn charges_are_compared_for_each_kind_of_query() {
    let text = |n: usize| match n % 4 {
        0 => "SELECT * FROM c WHERE c.userId = @a OR c.userId = @b",
        _ => "SELECT * FROM c WHERE c.userId = @a",
    };
    let texts = (0..400).map(|n| {
        json!({"TimeGenerated": "2026-11-20T00:00:00Z", "CollectionName": "posts",
            "ActivityId": format!("a-{n}"), "QueryText": text(n)})
    });
    let charges = (0..400).rev().map(|n| {
        json!({"TimeGenerated": "2026-11-20T00:00:00Z", "CollectionName": "posts", "OperationName": "Query",
            "ActivityId": format!("a-{n}"), "RequestCharge": if n % 4 == 0 { 5.0 } else { 3.5 }})
    });
    let lines = |rows: &mut dyn Iterator<Item = Value>| {
        rows.map(|row| row.to_string() + "\n").collect::<String>()
    };
    let texts = lines(&mut texts.into_iter());
    let charges = lines(&mut charges.into_iter());
    let joined = "TimeGenerated,CollectionName,QueryText,Requests,RequestCharge\n\
        2026-11-20T00:00:00Z,posts,SELECT * FROM c WHERE c.userId = @a OR c.userId = @b,100,500\n\
        2026-11-20T00:00:00Z,posts,SELECT * FROM c WHERE c.userId = @a,300,1050\n";
    for files in [vec![texts.as_str(), &charges], vec![&charges, &texts], vec![joined]] {
        let mut folder = posts::folder();
        let mut arguments = vec!["--items", "items.jsonl", "--current", "/userId", "--traffic"];
        for (name, text) in ["first", "second"].into_iter().zip(files) {
            folder = folder.with(name, text);
            arguments.push(name);
        }
        let output = folder.advise(&arguments);
        assert!(output.code < 2, "{}", output.err);
        let of_user =
            "The kind \"query by /userId\": charged 1,050 RU a day, estimated for /userId";
        assert!(output.out.contains(of_user), "{}", output.out);
        let scan = "The kind \"query without a certain filter\": charged 500 RU a day, estimated for /userId";
        let line = output.out.lines().find(|line| line.contains(scan));
        let line = line.unwrap_or_else(|| panic!("{}", output.out));
        assert!(line.contains("times as much: its text has no filter that is certain"), "{line}");
    }
}

#[test]
fn the_charge_of_a_function_is_compared_with_the_request_of_its_name() {
    let line = |hour: u32| {
        json!({"timestamp": format!("2026-11-22T{hour:02}:00:00Z"), "message": "Answered a request",
            "function": "posts of a user", "request_charge_ru": 30.0})
    };
    let lines = format!("{}\n{}\n", line(0), line(12));
    let folder = posts::folder().with("lines.jsonl", &lines);
    let output = folder.advise(&[
        "--items",
        "items.jsonl",
        "--requests",
        "requests.jsonl",
        "--current",
        "/userId",
        "--traffic",
        "lines.jsonl",
    ]);
    assert!(output.code < 2, "{}", output.err);
    let charged = "The kind \"posts of a user\": charged 120 RU a day, estimated for /userId";
    let line = output.out.lines().find(|line| line.contains(charged));
    let line = line.unwrap_or_else(|| panic!("{}", output.out));
    assert!(line.contains("% of it: requests find more than the sample tells"), "{line}");
}

/// User 13 has eight of 1,600 posts, and most of the reads.
#[test]
fn reads_that_concentrate_on_one_small_key_make_it_the_hot_one() {
    let hottest = |traffic: Option<&str>| {
        let folder = posts::folder().with("keys.jsonl", traffic.unwrap_or_default());
        let mut arguments =
            ["--items", "items.jsonl", "--requests", "requests.jsonl", "--json"].to_vec();
        arguments.extend(["--current", "/userId", "--candidate", "/userId,/id"]);
        if traffic.is_some() {
            arguments.extend(["--traffic", "keys.jsonl"]);
        }
        let output = folder.advise(&arguments);
        assert!(output.code < 2, "{}", output.err);
        let advice: Value = serde_json::from_str(&output.out).unwrap();
        ["/userId", "/userId,/id"].map(|key| {
            let ranked = advice["ranked"].as_array().unwrap().iter();
            let report = ranked.map(|one| &one["report"]).find(|one| one["strategy"] == key);
            let report = report.unwrap();
            let top = &report["byRequestUnits"]["top"][0];
            let findings = report["findings"].as_array().unwrap();
            let is_hot = findings.iter().any(|finding| finding["code"] == "hot-partition");
            (top["key"].as_str().unwrap().to_owned(), top["share"].as_f64().unwrap(), is_hot)
        })
    };
    let [(by_items, share, is_hot), _] = hottest(None);
    assert!(by_items != r#"["user-13"]"# && share < 0.1 && !is_hot, "{by_items} {share}");

    let row = |key: &str, operation: &str, charge: f64| {
        json!({"TimeGenerated": "2026-11-20T00:00:00Z", "CollectionName": "posts", "OperationName": operation,
            "PartitionKey": json!([key]).to_string(), "RequestCharge": charge}).to_string() + "\n"
    };
    // Its writes do not count as reads.
    let table = row("user-13", "Query", 8_000.0)
        + &row("user-13", "Read", 1_000.0)
        + &row("user-7", "Read", 1_000.0)
        + &row("user-7", "Create", 90_000.0);
    // XXH64 of user-13, as the handler names it; 90 % of the request units of the minute.
    let hash = format!("{:016x}", twox_hash::XxHash64::oneshot(0, b"user-13"));
    let line = json!({"timestamp": "2026-11-20T00:00:00Z", "message": "Measured the use of logical partitions",
        "container": "posts", "request_charge_ru": 1_000.0,
        "partitions.top": json!([[hash, 900.0, 300]]).to_string()});
    for traffic in [table, line.to_string()] {
        let [(key, share, is_hot), (finer, of_finer, _)] = hottest(Some(&traffic));
        assert_eq!(key, r#"["user-13"]"#);
        assert!((0.88..0.91).contains(&share) && is_hot, "{share} {is_hot}");
        // Each of its eight posts has an eighth of its reads.
        assert!(finer.starts_with(r#"["user-13","post-"#), "{finer}");
        assert!((share / of_finer - 8.0).abs() < 0.5, "{share} {of_finer}");
    }
}

#[test]
fn lines_of_the_handler_give_the_frequencies() {
    let line = |function: &str, hour: u32| {
        format!(
            "{{\"timestamp\":\"2026-11-22T{hour:02}:00:00Z\",\"message\":\"Answered a request\",\"function\":\"{function}\"}}\n"
        )
    };
    let lines =
        [line("posts of a user", 0), line("posts of a user", 6), line("Other", 12)].concat();
    let folder = posts::folder().with("lines.jsonl", &lines);
    let output = folder.advise(&[
        "--items",
        "items.jsonl",
        "--requests",
        "requests.jsonl",
        "--traffic",
        "lines.jsonl",
        "--json",
    ]);
    assert_eq!(output.code, 0, "{}", output.err);
    let advice: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(advice["ranked"][0]["report"]["requests"][0]["perDay"], 4.0);
    assert_eq!(advice["ranked"][0]["report"]["requests"][1]["perDay"], 40000.0);
    assert!(
        advice["traffic"]["notes"][0].as_str().unwrap().contains("Other"),
        "{}",
        advice["traffic"]
    );
}
