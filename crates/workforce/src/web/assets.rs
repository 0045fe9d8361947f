//! Styles, scripts and icons of the pages, built into the binary.
//!
//! A file's name has a hash of its content, so browsers may cache it forever. They are compressed once, at the start.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;

use super::compression::{gzip, takes_gzip};
use super::page_error::PageError;
use super::secrets;

/// Path of the assets.
pub const FOLDER: &str = "/assets/";
pub const STYLE: &str = "style.css";
pub const SCRIPT: &str = "live.js";
pub const UI_SCRIPT: &str = "ui.js";
pub const ICON: &str = "icon.svg";

/// Name, content type and content.
const FILES: [(&str, &str, &str); 4] = [
    (STYLE, "text/css; charset=utf-8", STYLES),
    (SCRIPT, "text/javascript; charset=utf-8", LIVE_SCRIPTS),
    (UI_SCRIPT, "text/javascript; charset=utf-8", include_str!("assets/ui.js")),
    (ICON, "image/svg+xml", include_str!("assets/icon.svg")),
];

/// The stylesheet: tokens, frame, components, and what single pages need. Later files win.
const STYLES: &str = concat!(
    include_str!("assets/tokens.css"),
    include_str!("assets/layout.css"),
    include_str!("assets/components.css"),
    include_str!("assets/pages.css"),
    include_str!("assets/overview.css"),
    include_str!("assets/orders.css"),
    include_str!("assets/print.css"),
);

/// The scripts of live parts, of the calendar and of the board of orders: one module, because a drag keeps its part
/// from being replaced.
const LIVE_SCRIPTS: &str =
    concat!(include_str!("assets/live.js"), include_str!("assets/calendar.js"), include_str!("assets/orders.js"),);

/// A file with its compressed form.
struct Asset {
    name: &'static str,
    /// The path, with the hash.
    path: String,
    kind: &'static str,
    plain: &'static str,
    small: Bytes,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| FILES.iter().map(|file| asset(*file)).collect());

/// The path of a file.
pub fn path(name: &str) -> &'static str {
    ASSETS.iter().find(|asset| asset.name == name).map_or("", |asset| &asset.path)
}

/// `GET /assets/<name>`.
pub async fn serve(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, PageError> {
    let wanted = format!("{FOLDER}{name}");
    let asset = ASSETS.iter().find(|asset| asset.path == wanted).ok_or(PageError::NotFound)?;
    let mut response = if takes_gzip(&headers) && !asset.small.is_empty() {
        ([(header::CONTENT_ENCODING, "gzip")], asset.small.clone()).into_response()
    } else {
        asset.plain.into_response()
    };
    let fixed = [(header::CACHE_CONTROL, "public, max-age=31536000, immutable"), (header::VARY, "Accept-Encoding")];
    response.headers_mut().extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    Ok(response)
}

fn asset((name, kind, plain): (&'static str, &'static str, &'static str)) -> Asset {
    let hash: String = secrets::hash(&[plain]).chars().take(12).collect();
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    Asset {
        name,
        path: format!("{FOLDER}{stem}.{hash}.{ending}"),
        kind,
        plain,
        small: gzip(plain.as_bytes(), Compression::best()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_build_no_markup_and_load_nothing_external() {
        for (name, _, text) in FILES {
            for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "https://", "@import"] {
                assert!(!text.contains(forbidden), "{name} has {forbidden}");
            }
        }
    }

    /// Light and dark value of a token, as relative luminance.
    fn luminance(token: &str) -> [f64; 2] {
        let value = STYLES.split_once(&format!("--{token}: light-dark(")).unwrap().1.split_once(')').unwrap().0;
        let channel = |hex: &str| {
            let part = f64::from(u8::from_str_radix(hex, 16).unwrap()) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let of = |colour: &str| {
            let hex = colour.trim().trim_start_matches('#');
            0.2126 * channel(&hex[..2]) + 0.7152 * channel(&hex[2..4]) + 0.0722 * channel(&hex[4..6])
        };
        let (light, dark) = value.split_once(',').unwrap();
        [of(light), of(dark)]
    }

    #[test]
    fn text_has_enough_contrast_in_both_themes() {
        let grounds = ["ground", "paper", "raised", "sunken", "chip"];
        let on_any = ["ink", "quiet", "accent"].iter().flat_map(|text| grounds.map(|ground| (*text, ground)));
        let own = [("good", "good-ground"), ("wait", "wait-ground"), ("bad", "bad-ground"), ("info", "info-ground")];
        let others = [("on-accent", "accent"), ("on-accent", "accent-strong"), ("accent-strong", "accent-ground")];
        let others = others.into_iter().chain([
            ("bad", "paper"),
            ("wait", "paper"),
            ("good", "paper"),
            ("ink", "accent-ground"),
        ]);
        for (text, ground) in on_any.chain(own).chain(others) {
            for (one, other) in luminance(text).into_iter().zip(luminance(ground)) {
                let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                assert!(contrast >= 4.5, "{text} on {ground}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn every_asset_has_a_hashed_path() {
        for (name, ..) in FILES {
            let (stem, _) = name.split_once('.').unwrap();
            assert!(path(name).starts_with(&format!("{FOLDER}{stem}.")), "{name}");
        }
    }
}
