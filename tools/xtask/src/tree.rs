//! A work tree below the target directory, for checks that change committed files. It touches no file
//! of the checkout, and an interruption leaves nothing to tidy up.

use std::{
    env,
    path::PathBuf,
    process::{Command, Output},
};

use anyhow::{Context, ensure};

/// A work tree at HEAD, with build artefacts of its own.
pub(crate) struct Tree {
    pub(crate) path: PathBuf,
    pub(crate) target: PathBuf,
}

impl Tree {
    pub(crate) fn at_head() -> anyhow::Result<Self> {
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        let path = std::path::absolute(target)?.join("edit-loop");
        // Apart from that of the checkout: cargo gives both trees' artefacts the same names, and would
        // use an edited one for the checkout.
        let target = path.join("target");
        let head = String::from_utf8(run(Command::new("git").args(["rev-parse", "HEAD"]))?.stdout)?;
        if path.join(".git").exists() {
            let git = || {
                let mut git = Command::new("git");
                git.arg("-C").arg(&path);
                git
            };
            run(git().args(["checkout", "--quiet", "--force", "--detach", head.trim()]))?;
            run(git().args(["clean", "--quiet", "--force", "-d", "--exclude", "/target"]))?;
        } else {
            run(Command::new("git").args(["worktree", "prune"]))?;
            run(Command::new("git").args(["worktree", "add", "--detach"]).arg(&path))?;
        }
        Ok(Self { path, target })
    }
}

pub(crate) fn run(command: &mut Command) -> anyhow::Result<Output> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    // Failing tests are on stdout, errors of the compiler on stderr.
    let text = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)];
    ensure!(output.status.success(), "{command:?} failed:\n{}", text.concat());
    Ok(output)
}
