//! The chat page: its files, which are built into the binary, and their response headers.
//!
//! Only the files in the table are served. The content security policy allows only scripts of the page itself and
//! pictures of the emulator: names and texts that people type must never become code.

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

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
        &[$($(($name, $kind, include_str!(concat!("page/", $name))),)*)*]
    };
}

const ASSETS: &[Asset] = assets! {
    HTML: "index.html";
    PICTURE: "icon.svg";
    STYLE: "chat.css" "composer.css" "dialogs.css" "hints.css" "inspector.css" "layout.css" "media.css" "message.css" "theme.css"
        "welcome.css";
    SCRIPT: "api.js" "attach.js" "cards.js" "chat-head.js" "chat-menus.js" "chat.js" "clock.js" "commands.js"
        "composer-parts.js" "composer.js" "deeds.js" "dialogs.js" "dom.js" "entities.js" "faces.js" "faults.js"
        "forms.js" "hints.js" "inspector-row.js" "inspector.js" "json.js" "keyboard.js" "live.js" "main.js" "media.js" "menu.js"
        "message.js" "people.js" "record.js" "screen.js" "session.js" "soon.js" "state.js" "summary.js" "texts.js"
        "timeline.js" "tour.js" "welcome.js";
};

/// The page itself, at the path that the server chose.
pub async fn index(State(emulator): State<Emulator>) -> Response {
    match emulator.page_language() {
        Some(language) => {
            let page = include_str!("page/index.html");
            served(HTML, page.replacen(BEGINS, &format!("<html lang=\"{language}\" data-language=\"{language}\">"), 1))
        }
        None => asset("index.html"),
    }
}

/// One of the page's files; 404 if it has no such file.
pub fn asset(name: &str) -> Response {
    match ASSETS.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, text)) => served(kind, *text),
        None => (StatusCode::NOT_FOUND, "the page has no such file\n").into_response(),
    }
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
                assert_eq!(asset(wanted).status(), StatusCode::OK, "{name} asks for {wanted}");
            }
        }
    }

    #[test]
    fn no_file_of_the_page_is_forgotten() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/page")).unwrap();
        let mut files: Vec<String> = folder.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let mut known: Vec<&str> = ASSETS.iter().map(|(name, ..)| *name).collect();
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

    #[test]
    fn a_name_outside_the_table_is_not_found() {
        for name in ["", "../page.rs", "index.html/", "page.rs"] {
            assert_eq!(asset(name).status(), StatusCode::NOT_FOUND, "{name}");
        }
    }
}
