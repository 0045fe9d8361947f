//! The chat page: its files, which are built into the binary, and their response headers.
//!
//! Only the files in the table are served. The content security policy allows only scripts of the page itself and
//! pictures of the emulator: names and texts that people type must never become code.

use std::io::Write;
use std::sync::OnceLock;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::emulator::Emulator;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
    media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";
/// The beginning of the page, in which the language is replaced.
const BEGINS: &str = "<html lang=\"en\">";

/// Name, content type and text of a file.
type Asset = (&'static str, &'static str, &'static str);

macro_rules! assets {
    ($($kind:ident: $($name:literal)*;)*) => {
        &[("style.css", STYLE, STYLES), $($(($name, $kind, include_str!(concat!("page/", $name))),)*)*]
    };
}

macro_rules! joined {
    ($($name:literal)*) => { concat!($(include_str!(concat!("page/", $name))),*) };
}

/// The stylesheet, in one file: it is smaller than many. Later parts win.
const STYLES: &str = joined!("theme.css" "layout.css" "hints.css" "welcome.css" "chat.css" "composer.css" "message.css"
    "media.css" "dialogs.css" "inspector.css");

const ASSETS: &[Asset] = assets! {
    HTML: "index.html";
    PICTURE: "icon.svg";
    SCRIPT: "api.js" "attach.js" "cards.js" "chat-head.js" "chat-menus.js" "chat.js" "clock.js" "commands.js"
        "composer-parts.js" "composer.js" "deeds.js" "dialogs.js" "dom.js" "entities.js" "faces.js" "faults.js"
        "forms.js" "hints.js" "inspector-row.js" "inspector.js" "json.js" "keyboard.js" "live.js" "main.js" "media.js" "menu.js"
        "message.js" "people.js" "record.js" "screen.js" "session.js" "soon.js" "state.js" "summary.js" "texts.js"
        "timeline.js" "tour.js" "welcome.js";
};

/// The compressed files, in the order of [`ASSETS`]. Each is compressed when a browser first asks for it.
static COMPRESSED: [OnceLock<Bytes>; ASSETS.len()] = [const { OnceLock::new() }; ASSETS.len()];

/// The page itself, at the path that the server chose.
pub async fn index(State(emulator): State<Emulator>, headers: HeaderMap) -> Response {
    match emulator.page_language() {
        Some(language) => {
            let page = include_str!("page/index.html");
            served(HTML, page.replacen(BEGINS, &format!("<html lang=\"{language}\" data-language=\"{language}\">"), 1))
        }
        None => asset("index.html", &headers),
    }
}

/// One of the page's files, compressed for browsers that take it; 404 if it has no such file.
pub fn asset(name: &str, headers: &HeaderMap) -> Response {
    let found = ASSETS.iter().zip(&COMPRESSED).find(|((known, ..), _)| *known == name);
    let Some(((_, kind, text), compressed)) = found else {
        return (StatusCode::NOT_FOUND, "the page has no such file\n").into_response();
    };
    let small = if takes_gzip(headers) { compressed.get_or_init(|| gzip(text)).clone() } else { Bytes::new() };
    let mut response = if small.is_empty() {
        served(kind, *text)
    } else {
        served(kind, ([(header::CONTENT_ENCODING, "gzip")], small))
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let kinds = headers.get(header::ACCEPT_ENCODING).and_then(|kinds| kinds.to_str().ok());
    kinds.is_some_and(|kinds| kinds.contains("gzip"))
}

/// The compressed text; empty on failure, and then it is sent as it is.
fn gzip(text: &str) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(text.as_bytes());
    written.and_then(|()| encoder.finish()).unwrap_or_default().into()
}

fn served(kind: &'static str, text: impl IntoResponse) -> Response {
    let mut response = text.into_response();
    let headers: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // A new version of the program must not run with cached scripts of the old one.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    const FORBIDDEN: &str = "innerHTML outerHTML insertAdjacentHTML document.write eval( style=\"";

    /// Every name after `/client/page/` or in an `import … from "./…"`.
    fn mentioned(text: &str) -> impl Iterator<Item = &str> {
        let after = |mark: &'static str| text.split(mark).skip(1).filter_map(|rest| rest.split('"').next());
        after("\"/client/page/").chain(after("from \"./"))
    }

    #[test]
    fn every_file_the_page_asks_for_is_served() {
        for (name, _, text) in ASSETS {
            for wanted in mentioned(text) {
                assert_eq!(asset(wanted, &HeaderMap::new()).status(), StatusCode::OK, "{name} asks for {wanted}");
            }
        }
    }

    #[test]
    fn no_file_of_the_page_is_forgotten() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/page")).unwrap();
        let mut files: Vec<String> = folder.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        // The styles are parts of one file.
        for style in files.extract_if(.., |file| file.ends_with(".css")) {
            let text = std::fs::read_to_string(format!("{}/src/page/{style}", env!("CARGO_MANIFEST_DIR"))).unwrap();
            assert!(STYLES.contains(&text), "{style}");
        }
        let mut known: Vec<&str> = ASSETS.iter().map(|(name, ..)| *name).filter(|name| *name != "style.css").collect();
        files.sort();
        known.sort_unstable();
        assert_eq!(files, known);
    }

    #[test]
    fn nothing_on_the_page_is_made_from_markup_or_runs_inline() {
        for (name, _, text) in ASSETS {
            for forbidden in FORBIDDEN.split(' ') {
                assert!(!text.contains(forbidden), "{name} has {forbidden}");
            }
        }
    }

    #[tokio::test]
    async fn files_are_compressed_for_browsers_that_take_it() {
        let takes = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, br"))]);
        for (name, _, text) in ASSETS {
            let small = asset(name, &takes);
            assert_eq!(small.headers().get(header::CONTENT_ENCODING).unwrap(), "gzip", "{name}");
            let small = axum::body::to_bytes(small.into_body(), text.len()).await.unwrap();
            let mut unpacked = String::new();
            flate2::read::GzDecoder::new(&small[..]).read_to_string(&mut unpacked).unwrap();
            assert_eq!(unpacked, *text, "{name}");
            assert!(asset(name, &HeaderMap::new()).headers().get(header::CONTENT_ENCODING).is_none(), "{name}");
        }
    }

    #[test]
    fn a_name_outside_the_table_is_not_found() {
        for name in ["", "../page.rs", "index.html/", "page.rs"] {
            assert_eq!(asset(name, &HeaderMap::new()).status(), StatusCode::NOT_FOUND, "{name}");
        }
    }
}
