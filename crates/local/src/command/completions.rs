//! Completions of shells.

use std::io::Write as _;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::cli::LocalCli;

/// The name under which zsh finds the completions of `cargo local`.
const PROGRAM: &str = "cargo-local";
/// A name without a hyphen: the script for bash would write it in two ways.
const BASH_PROGRAM: &str = "cargo_local";

/// Completes the words behind `cargo local` in bash, and leaves all other words to the completion that
/// cargo had before.
const BASH_CARGO: &str = r#"
_cargo_now="$(complete -p cargo 2>/dev/null | sed -n 's/.*-F \([^ ]*\) .*/\1/p')"
[[ "$_cargo_now" == _cargo_with_local ]] || _cargo_before_local="$_cargo_now"
_cargo_with_local() {
    if [[ "${COMP_WORDS[1]}" == local && "$COMP_CWORD" -gt 1 ]]; then
        COMP_WORDS=(cargo_local "${COMP_WORDS[@]:2}")
        COMP_CWORD=$((COMP_CWORD - 1))
        _cargo_local cargo_local "$2" "$3"
    elif [[ -n "$_cargo_before_local" ]]; then
        "$_cargo_before_local" "$@"
    fi
}
complete -F _cargo_with_local -o bashdefault -o default cargo
complete -F _cargo_local -o bashdefault -o default tributary-local
"#;

/// The same for fish.
const FISH_CARGO: &str = r#"
complete -c cargo -n "__fish_seen_subcommand_from local" -f -a \
    "(complete -C (string replace -r '^cargo +local' cargo-local -- (commandline -pc)))"
"#;

/// Prints the completions of a shell to stdout.
pub(super) fn print(shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    // A name with a blank would be taken for a command and a subcommand.
    let program = if shell == Shell::Bash { BASH_PROGRAM } else { PROGRAM };
    let mut command = LocalCli::command().name(program).bin_name(program);
    clap_complete::generate(shell, &mut command, program, &mut script);
    match shell {
        Shell::Bash => script.extend_from_slice(BASH_CARGO.as_bytes()),
        Shell::Fish => script.extend_from_slice(FISH_CARGO.as_bytes()),
        // The completion of cargo itself asks `_cargo-local`.
        _ => {}
    }
    std::io::stdout().write_all(&script).context("stdout is closed")
}
