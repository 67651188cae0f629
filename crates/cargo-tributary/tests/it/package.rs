//! `cargo tributary package` on the command line, with a stand-in for the compiler. `cargo xtask package`
//! builds and runs the same package with a real one.

use std::{env, fs, os::unix::fs::PermissionsExt, process::Command};

use crate::Folder;

#[test]
fn the_handler_of_host_json_is_built_for_the_glibc_of_the_functions_images() {
    let folder = Folder::new("packaged");
    let package = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-tributary"));
        let path = env::join_paths(
            [folder.0.clone()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap())),
        );
        command.args(["tributary", "package", "--app"]).arg(&folder.0).env("PATH", path.unwrap());
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = package();
    assert!(said.contains("host.json is needed"), "{said}");

    let host = r#"{"customHandler": {"description": {"defaultExecutablePath": "river"}}}"#;
    folder.write("host.json", host);
    let script = "#!/bin/sh\n[ \"$1\" = --version ] || { echo \"$@\" >&2; exit 1; }\n";
    folder.write("cargo-zigbuild", script);
    let compiler = folder.0.join("cargo-zigbuild");
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let said = package();
    let build = "zigbuild --profile release --bin river --target x86_64-unknown-linux-gnu.2.31";
    assert!(said.lines().any(|line| line == build), "{said}");
    assert!(said.contains("the handler does not build"), "{said}");
    assert!(!folder.0.join("target/functionapp").exists());
}
