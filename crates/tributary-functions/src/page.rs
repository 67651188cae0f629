//! A web page: files in the executable, which two HTTP functions of the app answer.
//!
//! ```ignore
//! Program::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
//!     .page(tributary_functions::web_page!("page": "index.html", "main.js", "style.css"))
//! ```
//!
//! The files are compressed at the first request. `rust-embed` and `memory-serve` do not do less: they leave
//! routes for the Functions host, versions in paths and the policy to us.
//!
//! - `GET /` answers `index.html`, which a browser asks for again each time. It names the other files under a
//!   path with their version, `page/<version>/main.js`, which browsers keep. Imports between files are relative.
//! - A page of an earlier version may ask for its files. It gets those of this version, and keeps none of them.
//! - The policy of the page lets it load scripts, styles, pictures and answers from the app alone, run no text as
//!   code, and be shown in no frame.

use std::{borrow::Cow, collections::HashMap, hash::Hasher as _, io::Read as _, sync::OnceLock};

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing,
};
use flate2::{
    Compression,
    read::{GzDecoder, GzEncoder},
};
use twox_hash::XxHash64;

use crate::http::{ApiError, Conditions};

#[derive(Debug)]
pub(crate) struct PagePlace {
    pub path: &'static str,
    /// The same as the Functions host reads it.
    pub route: &'static str,
    pub files: &'static str,
    pub functions: [&'static str; 2],
    policy: HeaderValue,
}

/// An empty route would be the function's name, so it has an optional parameter that fits no text.
pub(crate) static OF_APP: PagePlace = PagePlace {
    path: "/",
    route: "/{nothing:maxlength(0)?}",
    files: "/page/{version}/{file}",
    functions: ["GetPage", "GetPageFile"],
    policy: HeaderValue::from_static(CONTENT_SECURITY_POLICY),
};

pub(crate) static OF_API: PagePlace = PagePlace {
    path: "/api/docs",
    route: "/api/docs",
    files: "/api/docs/{version}/{file}",
    functions: ["GetApiDocs", "GetApiDocsFile"],
    policy: HeaderValue::from_static(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; style-src-attr 'unsafe-inline'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
};

const INDEX: &str = "index.html";

/// A text from an answer can never become markup or code (`require-trusted-types-for`).
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const REVALIDATED: HeaderValue = HeaderValue::from_static("no-cache");
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

const VERSION: &str = "{version}";

const GZIP_END: &str = ".gz";

const MEDIA_TYPES: [(&str, &str); 11] = [
    ("css", "text/css; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("webmanifest", "application/manifest+json"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
];

/// Embeds the files of a page from a folder: `index.html`, which names the others under `page/{version}/`.
#[macro_export]
macro_rules! web_page {
    ($folder:literal: $($file:literal),+ $(,)?) => {{
        static PAGE: $crate::page::WebPage = $crate::page::WebPage::new(&[$((
            $file,
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder, "/", $file)),
        )),+]);
        &PAGE
    }};
}

/// The files of a web page.
#[derive(Debug)]
pub struct WebPage {
    files: &'static [(&'static str, &'static [u8])],
    served: OnceLock<ServedPage>,
}

#[derive(Debug)]
struct ServedPage {
    version: String,
    files: Vec<ServedFile>,
}

#[derive(Debug)]
struct ServedFile {
    name: &'static str,
    gzip: Cow<'static, [u8]>,
}

impl WebPage {
    /// Creates a page from the names and the contents of its files: [`web_page!`](crate::web_page).
    pub const fn new(files: &'static [(&'static str, &'static [u8])]) -> Self {
        Self { files, served: OnceLock::new() }
    }

    fn served(&self) -> &ServedPage {
        self.served.get_or_init(|| ServedPage::new(self.files))
    }
}

impl ServedPage {
    fn new(files: &'static [(&'static str, &'static [u8])]) -> Self {
        let mut hash = XxHash64::with_seed(0);
        for part in files.iter().flat_map(|(name, content)| [name.as_bytes(), content]) {
            hash.write(&(part.len() as u64).to_le_bytes());
            hash.write(part);
        }
        let version = format!("{:016x}", hash.finish());
        let files = files.iter().map(|&(name, content)| match name.strip_suffix(GZIP_END) {
            Some(name) => ServedFile { name, gzip: content.into() },
            None if name == INDEX => {
                let text = String::from_utf8_lossy(content).replace(VERSION, &version);
                ServedFile { name, gzip: gzip(text.as_bytes()).into() }
            }
            None => ServedFile { name, gzip: gzip(content).into() },
        });
        Self { files: files.collect(), version }
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    // A text in memory can always be read.
    let _ = GzEncoder::new(content, Compression::default()).read_to_end(&mut text);
    text
}

fn media_type(name: &str) -> &'static str {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let known = MEDIA_TYPES.iter().find(|(known, _)| *known == end);
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PlacedPage {
    pub page: &'static WebPage,
    pub place: &'static PagePlace,
}

impl PlacedPage {
    pub(crate) fn functions(self) -> [(&'static str, &'static str); 2] {
        let [index, file] = self.place.functions;
        [(index, self.place.route), (file, self.place.files)]
    }

    pub(crate) fn router(self) -> Router {
        Router::new()
            .route(self.place.path, routing::get(get_page))
            .route(self.place.files, routing::get(get_page_file))
            .with_state(self)
    }

    fn answer(
        self,
        name: &str,
        (conditions, headers): (&Conditions, &HeaderMap),
        cache: HeaderValue,
    ) -> Result<Response, ApiError> {
        let ServedPage { version, files } = self.page.served();
        let file = files.iter().find(|file| file.name == name);
        let file = file.ok_or(ApiError::NotFound("file"))?;
        let tag = format!("\"{version}\"");
        let mut response = if conditions.not_modified(&tag.clone().into()) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            content(file, headers)?
        };
        let headers = response.headers_mut();
        // Weak, since the same tag is on the content with and without compression.
        if let Ok(tag) = HeaderValue::try_from(format!("W/{tag}")) {
            headers.insert(header::ETAG, tag);
        }
        headers.insert(header::CACHE_CONTROL, cache);
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(header::CONTENT_SECURITY_POLICY, self.place.policy.clone());
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Ok(response)
    }
}

async fn get_page(
    State(page): State<PlacedPage>,
    conditions: Conditions,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    page.answer(INDEX, (&conditions, &headers), REVALIDATED)
}

async fn get_page_file(
    State(page): State<PlacedPage>,
    Path((version, file)): Path<(String, String)>,
    conditions: Conditions,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let is_current = version == page.page.served().version;
    let cache = if is_current { IMMUTABLE } else { REVALIDATED };
    page.answer(&file, (&conditions, &headers), cache)
}

fn content(file: &'static ServedFile, headers: &HeaderMap) -> Result<Response, ApiError> {
    let media_type = [(header::CONTENT_TYPE, media_type(file.name))];
    if takes_gzip(headers) {
        let encoding = [(header::CONTENT_ENCODING, "gzip")];
        return Ok((media_type, encoding, file.gzip.as_ref()).into_response());
    }
    let mut text = Vec::new();
    GzDecoder::new(file.gzip.as_ref()).read_to_end(&mut text).map_err(|_| ApiError::Internal)?;
    Ok((media_type, text).into_response())
}

/// Returns true if `Accept-Encoding` allows gzip (RFC 9110, section 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let codings = texts.flat_map(|text| text.split(',')).map(|coding| {
        let (name, parameter) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = parameter.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
        (name.trim().to_ascii_lowercase(), weight.is_ok_and(|weight| weight > 0.0))
    });
    let codings: HashMap<_, _> = codings.collect();
    codings.get("gzip").or(codings.get("*")).is_some_and(|is_taken| *is_taken)
}

#[cfg(test)]
mod tests {
    use axum::{
        body::{Body, to_bytes},
        http::Request,
    };
    use tower::ServiceExt as _;

    use super::*;

    static PAGE: WebPage = WebPage::new(&[
        ("index.html", b"<script src=\"page/{version}/main.js\">"),
        ("main.js", b"main()"),
        ("viewer.js.gz", A_PAGE),
    ]);

    /// "a page", compressed with gzip and no time.
    const A_PAGE: &[u8] = &[
        31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 1, 6, 0, 249, 255, 97, 32, 112, 97, 103, 101, 100, 59,
        229, 134, 6, 0, 0, 0,
    ];

    async fn ask(path: &str, headers: &[(&str, &str)]) -> Response {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let page = PlacedPage { page: &PAGE, place: &OF_APP }.router();
        page.oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    fn text<'a>(response: &'a Response, name: &str) -> &'a str {
        response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[tokio::test]
    async fn a_browser_keeps_the_files_of_this_version_and_asks_for_the_page_each_time() {
        let body = to_bytes(ask("/", &[]).await.into_body(), 100).await.unwrap();
        let script = String::from_utf8(body.to_vec()).unwrap();
        let script = format!("/{}", script.split('"').nth(1).unwrap());
        for (path, cache) in [
            ("/", "no-cache"),
            (&*script, "public, max-age=31536000, immutable"),
            ("/page/v0/main.js", "no-cache"),
        ] {
            let response = ask(path, &[("accept-encoding", "br, gzip")]).await;
            assert_eq!(
                (response.status().as_u16(), text(&response, "cache-control")),
                (200, cache)
            );
            assert_eq!(text(&response, "content-encoding"), "gzip");
            let policy = text(&response, "content-security-policy");
            assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(text(&response, "x-content-type-options"), "nosniff");
            let again = ask(path, &[("if-none-match", text(&response, "etag"))]).await;
            assert_eq!((again.status().as_u16(), text(&again, "cache-control")), (304, cache));
        }
        assert_eq!(ask("/page/v0/other.js", &[]).await.status(), 404);
    }

    #[tokio::test]
    async fn a_caller_that_takes_no_compression_gets_the_text() {
        for header in ["", "br", "gzip;q=0, *", "*;q=0", "identity, gzip;q=x"] {
            for (file, content) in [("main.js", "main()"), ("viewer.js", "a page")] {
                let response =
                    ask(&format!("/page/v0/{file}"), &[("accept-encoding", header)]).await;
                assert_eq!(text(&response, "content-encoding"), "", "{header}");
                assert_eq!(text(&response, "content-type"), "text/javascript; charset=utf-8");
                let body = to_bytes(response.into_body(), 100).await.unwrap();
                assert_eq!(body, content, "{header}");
            }
        }
        for header in ["gzip", "br, GZIP ; q=0.5", "*"] {
            let response = ask("/", &[("accept-encoding", header)]).await;
            assert_eq!(text(&response, "content-encoding"), "gzip", "{header}");
        }
    }
}
