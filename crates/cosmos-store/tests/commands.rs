//! The executable, as people run it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

fn store() -> Command {
    Command::new(env!("CARGO_BIN_EXE_cosmos-store"))
}

/// Runs a command on the container, and returns what it prints.
fn run(arguments: &[&str], input: &str) -> String {
    let mut command = store();
    command.args(arguments).args(["-d", "shop", "-c", "orders"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn items_come_and_go_by_the_command_line_and_outlive_a_kill() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("commands");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let containers = folder.join("containers.json");
    let orders = json!({"id": "orders", "partitionKey": {"paths": ["/customer"], "version": 2}});
    let all = json!({"database": "shop", "containers": [orders]});
    fs::write(&containers, all.to_string()).unwrap();
    let data = folder.join("data");

    let mut server = store();
    server.args(["--port", "0", "--partitions", "3", "--data"]).arg(&data);
    server.arg("--containers").arg(&containers);
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let url = ready["cosmos"].as_str().unwrap();

    let item = |n: u64| json!({"id": n.to_string(), "customer": n % 9, "n": n}).to_string();
    let items: Vec<String> = (0..250).map(item).collect();
    run(&["import", "--url", url], &items.join("\n"));
    let found = run(
        &["query", "--url", url, "SELECT VALUE c.n FROM c WHERE c.n > 246 ORDER BY c.n DESC"],
        "",
    );
    assert_eq!(found, "249\n248\n247\n");
    server.kill().unwrap();
    server.wait().unwrap();

    let folder = data.to_str().unwrap();
    let exported = run(&["export", "--data", folder], "");
    let mut numbers: Vec<u64> = exported
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["n"].as_u64().unwrap())
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..250));
    // What was exported replaces the items, and adds none.
    run(&["import", "--data", folder], &exported);
    assert_eq!(run(&["query", "--data", folder, "SELECT VALUE COUNT(1) FROM c"], ""), "250\n");
}
