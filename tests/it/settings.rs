//! Every setting is documented.

use std::{cell::RefCell, collections::BTreeSet, fs, path::Path};

use tributary_functions::{
    app::AppOptions,
    config::{Config, Settings},
};

#[test]
fn every_setting_that_is_read_is_in_the_docs() {
    let seen = RefCell::new(BTreeSet::new());
    for settings in [
        &[("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5")][..],
        &[
            ("CosmosConnection__accountEndpoint", "https://a.documents.azure.com/"),
            ("CosmosConnection__credential", "managedidentity"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
            ("Authentication__Mode", "easyauth"),
            ("WEBSITE_INSTANCE_ID", "1"),
            ("WEBSITE_AUTH_ENABLED", "True"),
        ],
    ] {
        let look_up = |name: &str| {
            seen.borrow_mut().insert(name.to_owned());
            let mut settings = settings.iter();
            settings.find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned())
        };
        let settings = Settings::new(&look_up);
        let config = Config::read(settings).unwrap();
        tributary::program().build(&config.cosmos.into(), AppOptions::default(), settings).unwrap();
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let pages = ["configuration.md", "news.md"].map(|page| fs::read_to_string(docs.join(page)));
    let page = pages.map(Result::unwrap).concat();
    let seen = seen.into_inner();
    assert!(seen.len() > 12, "{seen:?}");
    let missing: Vec<_> = seen.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/configuration.md and docs/news.md do not have {missing:?}");
}
