//! The table of an app's functions, from which `functions/` is made.

use std::{env, fs, path::Path};

use tributary_testing::AppUnderTest;

/// Compares `functions.txt` in a folder of this crate with the app's declarations; with `UPDATE_FUNCTIONS=1` in
/// the environment, writes it.
pub(crate) fn hold_table<A: AppUnderTest>(folder: &str) {
    let mut lines = Vec::new();
    for declaration in A::program().describe().unwrap().declarations() {
        let pretty = declaration.function_json().unwrap();
        let mut json = Vec::new();
        let mut compact = serde_json::Serializer::new(&mut json);
        serde_transcode::transcode(&mut serde_json::Deserializer::from_str(&pretty), &mut compact)
            .unwrap();
        lines.push(format!("{} {}\n", declaration.name, String::from_utf8(json).unwrap()));
    }
    lines.sort();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("functions.txt");
    if env::var_os("UPDATE_FUNCTIONS").is_some() {
        fs::write(&file, lines.concat()).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap();
    assert_eq!(stored, lines.concat(), "run this test with UPDATE_FUNCTIONS=1");
}
