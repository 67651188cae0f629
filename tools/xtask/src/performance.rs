//! Runs a benchmark, and on request writes its tables into the pages.
//!
//! A table belongs to the command in the block of shell commands before it, and to the table of the
//! output that has the same header.

use std::{
    fs,
    process::{Command, Stdio},
};

use anyhow::{Context, ensure};

/// The pages with tables.
const PAGES: [&str; 2] = ["docs/performance.md", "docs/security.md"];

/// The argument that asks for it, which the bench does not have.
const WRITE_ARGUMENT: &str = "--write";

/// Runs the bench with these arguments; with `--write` among them, writes its tables into the pages.
pub(crate) fn bench(arguments: &[String]) -> anyhow::Result<()> {
    let program = "tributary-bench";
    if !arguments.iter().any(|argument| argument == WRITE_ARGUMENT) {
        return crate::beside_handler(program, arguments);
    }
    let arguments: Vec<String> =
        arguments.iter().filter(|argument| *argument != WRITE_ARGUMENT).cloned().collect();
    let command = format!("cargo xtask bench {}", arguments.join(" "));
    let mut pages = Vec::new();
    for name in PAGES {
        let page = fs::read_to_string(name).context("run this in the workspace's root")?;
        if places(&page, &command).next().is_some() {
            pages.push((name, page));
        }
    }
    ensure!(!pages.is_empty(), "none of {PAGES:?} has a block with `{command}`");

    crate::build_beside_handler(program)?;
    let run = ["run", "--quiet", "--release", "--bin", program, "--"];
    let mut bench = Command::new(env!("CARGO"));
    bench.args(run).args(&arguments).env("RUST_LIB_BACKTRACE", "0").stderr(Stdio::inherit());
    let output = bench.output().context("cargo cannot be started")?;
    let printed = String::from_utf8(output.stdout).context("the bench's output is no text")?;
    print!("{printed}");
    ensure!(output.status.success(), "the bench failed");
    for (name, page) in pages {
        let (page, replaced) = with_tables(&page, &command, &printed);
        ensure!(replaced > 0, "no table of the output has the header of one after `{command}`");
        fs::write(name, page)?;
        println!("{replaced} tables written to {name}: read the sentences around them again");
    }
    Ok(())
}

/// Returns the page with the tables of an output in the place of those of a command, and the number of
/// replaced tables.
fn with_tables(page: &str, command: &str, printed: &str) -> (String, usize) {
    let printed: Vec<&str> = printed.lines().collect();
    let lines: Vec<&str> = page.lines().collect();
    let (mut out, mut replaced): (Vec<&str>, _) = (Vec::new(), 0);
    let mut places = places(page, command).peekable();
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        while places.next_if(|place| place.1 <= next).is_some() {}
        let of_command = places.peek().is_some_and(|place| place.0 <= next);
        let starts = line.starts_with('|') && (next == 0 || !lines[next - 1].starts_with('|'));
        let same = printed.iter().position(|other| starts && of_command && other == line);
        if let Some(same) = same {
            out.extend(printed[same..].iter().take_while(|line| line.starts_with('|')));
            next += lines[next..].iter().take_while(|line| line.starts_with('|')).count();
            replaced += 1;
        } else {
            out.push(line);
            next += 1;
        }
    }
    (out.join("\n") + "\n", replaced)
}

/// Returns the ranges of lines in which a command's tables may be: from its block to the next block.
fn places<'a>(page: &'a str, command: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    let blocks: Vec<usize> = page
        .lines()
        .enumerate()
        .filter_map(|(number, line)| (line == "```sh").then_some(number))
        .chain([page.lines().count()])
        .collect();
    let is_command = move |from: usize| {
        let commands = page.lines().skip(from + 1).take_while(|line| *line != "```");
        commands
            .map(|line| line.split(" #").next().unwrap_or(line).trim())
            .any(|one| one == command)
    };
    let pairs: Vec<_> = blocks.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter().filter(move |(from, _)| is_command(*from))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
```sh
cargo xtask bench load      # or another
```

| a | b |
| - | - |
| old | 1 |

After it.

```sh
cargo xtask bench load --more
```

| a | b |
| - | - |
| kept | 2 |
";

    #[test]
    fn only_the_table_after_its_command_is_replaced() {
        let printed = "4 s each\n\n| a | b |\n| - | - |\n| new | 3 |\n| newer | 4 |\n\n| c |\n";
        let (page, replaced) = with_tables(PAGE, "cargo xtask bench load", printed);
        assert_eq!(replaced, 1);
        assert_eq!(page, PAGE.replace("| old | 1 |", "| new | 3 |\n| newer | 4 |"));
    }

    #[test]
    fn a_table_with_another_header_stays() {
        let (page, replaced) =
            with_tables(PAGE, "cargo xtask bench load", "| c | d |\n| - | - |\n");
        assert_eq!((page.as_str(), replaced), (PAGE, 0));
    }

    #[test]
    fn a_command_that_the_page_lacks_has_no_range() {
        assert_eq!(places(PAGE, "cargo xtask bench").count(), 0);
    }
}
