//! `cargo local`: the app on this machine, under a stand-in for the Functions host.

fn main() -> std::process::ExitCode {
    tributary_local::command::main()
}
