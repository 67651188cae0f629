//! A strategy without data.

use crate::support::Folder;

const POSTS: &str = "\
[volume]
items = 5_000_000
gigabytes = 40
[access]
temporal = true
[paths]
entity = '/userId'
";

#[test]
fn a_description_gets_a_key_with_its_reasons_as_text_and_as_json() {
    let folder = Folder::new().with("posts.toml", POSTS);
    let output = folder.advise(&["--characteristics", "posts.toml"]);
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    insta::assert_snapshot!(output.out);
    let output = folder.advise(&["--characteristics", "posts.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(json["key"]["strategy"], "/userId+/createdAt by month");
}
