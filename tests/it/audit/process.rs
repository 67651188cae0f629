//! `tributary audit` as a process, over TCP.

use futures::future::join_all;
use serde_json::{Value, json};

use super::{remove, small_blog};
use crate::handler::run_command;

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_says_that_there_are_findings_and_the_report_lists_them() {
    let world = small_blog().await;
    let server = world.endpoint.serve(0).await.unwrap();
    let connection = server.connection_string();

    let (code, out, err) = run_command(&connection, "audit", &["--settle", "0"]).await;
    // On a slow machine the command reports its progress.
    assert!(code == 0 && err.lines().all(|line| line.contains(" items read, ")), "{out}{err}");
    assert!(out.starts_with("No divergences in "), "{out}");
    assert_eq!(out.lines().count(), 1, "{out}");

    remove(&world, ("users", "ann", "post:p1")).await;
    remove(&world, ("users", "username:ann", "username")).await;
    let (code, out, _) = run_command(&connection, "audit", &["--settle=0"]).await;
    assert_eq!(code, 1, "{out}");
    let lines: Vec<&str> = out.lines().collect();
    let cells: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(cells, ["KIND", "CONTAINER", "PARTITION", "KEY", "ID", "EXPECTED", "FOUND"]);
    let column = lines[0].find("FOUND").unwrap();
    assert!(
        lines[1..3]
            .iter()
            .any(|line| line.starts_with("copy-missing") && &line[column..] == "none"),
        "{out}"
    );
    assert!(lines[3].starts_with("2 divergences in "), "{out}");
    assert!(!out.contains('\u{1b}'), "colours in a pipe: {out:?}");

    let (code, out, _) =
        run_command(&connection, "audit", &["--settle", "0", "--json", "--repair"]).await;
    assert_eq!(code, 0, "{out}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{out}");
    for finding in &lines[..2] {
        assert_eq!(finding["repair"]["repaired"], true, "{finding}");
        assert_eq!(finding["container"], "users");
        assert_eq!(finding["partitionKey"], "ann");
    }
    assert_eq!(lines[2]["summary"]["findings"], 2);
    assert_eq!(lines[2]["summary"]["repaired"], 2);
    assert!(lines[2]["summary"]["requestUnits"].as_f64().unwrap() > 0.0);

    let arguments = ["--settle", "0", "--json", "--domain", "blog"];
    let (code, out, _) = run_command(&connection, "audit", &arguments).await;
    assert_eq!(code, 0, "{out}");

    world.write_item("users", &json!({"id": "x", "userId": "x"})).await;
    let (code, out, _) = run_command(&connection, "audit", &["--settle", "0", "--repair"]).await;
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("not repaired"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_that_cannot_begin_names_the_reason_with_code_2() {
    let world = small_blog().await;
    world.container("feed").await.delete(None).await.unwrap();
    let server = world.endpoint.serve(0).await.unwrap();
    let connection = server.connection_string();
    let away = "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5";
    let cases = [
        ("", &[][..], "CosmosConnection", Some(1)),
        (away, &[], "unavailable", Some(1)),
        (&connection, &["--domain", "shops"], "blog", Some(1)),
        (&connection, &["--settle", "0"], "there is no container `feed`", None),
        // With the usage.
        ("", &["--fix"], "--fix", None),
        ("", &["now"], "now", None),
        ("", &["--settle"], "--settle", None),
        ("", &["--settle", "soon"], "a number of seconds", None),
    ];
    join_all(cases.map(async |(connection, arguments, named, n_lines)| {
        let (code, out, err) = run_command(connection, "audit", arguments).await;
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(named), "{err}");
        assert!(n_lines.is_none_or(|n_lines| err.lines().count() == n_lines), "{err}");
    }))
    .await;
    let (code, out, _) = run_command("", "audit", &["--help"]).await;
    assert_eq!(code, 0);
    assert!(out.contains("--repair") && out.contains("Exit code"), "{out}");
}
