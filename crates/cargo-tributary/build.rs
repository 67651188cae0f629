//! Builds the program again when the template has changed: the macro that includes it does not tell Cargo.

fn main() {
    println!("cargo::rerun-if-changed=template");
    println!("cargo::rerun-if-changed=rooms");
}
