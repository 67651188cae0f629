//! Compresses the files of the page into the executable.

fn main() -> std::io::Result<()> {
    tributary_page::embed("src/page")
}
