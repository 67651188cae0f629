//! `cargo local`.

fn main() {}
