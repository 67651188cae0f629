//! The executable `cosmos-store`.

fn main() {}
