//! The rows of the queries that name each projection, from the triggers in `functions/`.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, ensure};
use serde_json::Value;

/// The tables: the query, its table, and the properties of the trigger in a row beside the function's
/// name.
const TABLES: [(&str, &str, &[&str]); 2] = [
    ("infra/kql/change-feed-silent.kql", "projections", &["containerName"]),
    ("infra/kql/lease-age.kql", "triggers", &["containerName", "leaseContainerPrefix"]),
];

pub(crate) fn alerts(check: bool) -> anyhow::Result<()> {
    let triggers = triggers()?;
    for (file, table, properties) in TABLES {
        let query = fs::read_to_string(file).context("run this in the workspace's root")?;
        let mut rows = String::new();
        for (function, trigger) in &triggers {
            let mut cells = vec![function.as_str()];
            for property in properties {
                cells.push(trigger[property].as_str().with_context(|| {
                    format!("functions/{function}/function.json has no {property}")
                })?);
            }
            rows.extend(["    \"", &cells.join("\", \""), "\",\n"]);
        }
        let wanted = with_rows(&query, table, &rows);
        let wanted = wanted.with_context(|| format!("{file} has no table {table}"))?;
        if wanted != query {
            ensure!(!check, "{file} lacks rows, or has too many. Run: cargo xtask functions");
            fs::write(file, wanted)?;
        }
    }
    Ok(())
}

fn triggers() -> anyhow::Result<BTreeMap<String, Value>> {
    let mut triggers = BTreeMap::new();
    for folder in fs::read_dir("functions").context("run this in the workspace's root")? {
        let folder = folder?;
        let file = folder.path().join("function.json");
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let mut function: Value = serde_json::from_str(&text)?;
        let bindings = function["bindings"].as_array_mut().into_iter().flatten();
        let trigger =
            bindings.map(Value::take).find(|binding| binding["type"] == "cosmosDBTrigger");
        let name = folder.file_name().to_string_lossy().into_owned();
        triggers.extend(trigger.map(|trigger| (name, trigger)));
    }
    Ok(triggers)
}

/// Returns the query with these rows in a table, behind the table's first comment; `None` if it has no
/// such table.
fn with_rows(query: &str, table: &str, rows: &str) -> Option<String> {
    let table = query.find(&format!("let {table} = datatable("))?;
    let first = table + query[table..].find("[\n")? + 2;
    let lines = query[first..].split_inclusive('\n');
    let comment = lines.take_while(|line| line.trim_start().starts_with("//"));
    let begin = first + comment.map(str::len).sum::<usize>();
    let end = begin + query[begin..].find("];")?;
    Some([&query[..begin], rows, &query[end..]].concat())
}
