//! The handler.

fn main() {}
