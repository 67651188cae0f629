//! Tributary's function app: three domains on the framework [`tributary_functions`].
//!
//! - [`blog`]: the blogging platform of the data-modelling article;
//! - [`webstore`]: customers, orders, products, categories and tags;
//! - [`news`]: the news feeds of the partitioning guide.

use tributary_functions::{program::Program, web_page};

pub use tributary_blog as blog;
pub use tributary_news as news;
pub use tributary_webstore as webstore;

/// Returns the app with its domains, one line each.
#[rustfmt::skip]
pub fn program() -> Program {
    Program::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .domain(blog::domain)
        .domain(webstore::domain)
        .domain(news::domain)
        .costs(include_str!("../docs/costs.json"))
        .page(web_page!("src/page":
            "index.html", "style.css", "icon.svg", "main.js",
            "api.js", "blog.js", "costs.js", "dom.js", "effects.js", "news.js", "operators.js", "store.js"))
}
