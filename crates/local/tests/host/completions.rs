//! `cargo local completions`, in a real shell.

use std::process::Command;

/// Returns what bash offers for the last of `words`.
fn offered(words: &str) -> Vec<String> {
    let script = format!(
        r#"
        _cargo() {{ COMPREPLY=(of-cargo); }}
        complete -F _cargo cargo
        # Twice, as in a shell that reads its settings again.
        source <("{program}" completions bash)
        source <("{program}" completions bash)
        COMP_WORDS=({words})
        COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        complete=$(complete -p cargo | sed -n 's/.*-F \([^ ]*\) .*/\1/p')
        "$complete" cargo "${{COMP_WORDS[$COMP_CWORD]}}" "${{COMP_WORDS[$COMP_CWORD - 1]}}"
        printf '%s\n' "${{COMPREPLY[@]}}"
        "#,
        program = env!("CARGO_BIN_EXE_tributary-local"),
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn bash_completes_the_options_and_the_commands_behind_cargo_local() {
    assert_eq!(offered("cargo local --cosmos-p"), ["--cosmos-port"]);
    assert_eq!(offered("cargo local completions po"), ["powershell"]);
    assert_eq!(offered("cargo local comp"), ["completions"]);
    assert_eq!(offered("cargo c"), ["of-cargo"], "the rest stays with cargo's own completion");
}
