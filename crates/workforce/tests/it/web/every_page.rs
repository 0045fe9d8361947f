//! Every page of the product in a real browser: no violation that axe finds, and nothing that scrolls sideways on a
//! narrow phone, with names of sixty characters. A first load is small.
//!
//! The pages come from the routes, so a new page is looked at without being named here. `cargo xtask screenshots` runs
//! the same walk and keeps pictures instead.

use std::path::Path;
use std::sync::Arc;

use opora_testkit::environment;
use serde_json::Value;
use tempfile::TempDir;
use workforce::domain::{Address, Domain};

use self::site_map::{SiteMap, View};
use crate::kit::browser::{Screen, visit_pages};
use crate::kit::demo::Demo;
use crate::kit::page::Page;
use crate::kit::sql::run_sql;

mod site_map;

const DESKTOP: u32 = 1280;
const PHONE: u32 = 390;
const NARROWEST: u32 = 360;
/// For a page with its style sheet, scripts and icons, as they are sent.
const MAX_FIRST_LOAD_BYTES: u64 = 100 * 1024;
const LONG_NAMES: &str =
    "UPDATE users SET full_name = substr(full_name || ' ' || replace(hex(zeroblob(40)), '00', 'Юж'), 1, 60);
    UPDATE sites SET name = substr(name || ' ' || replace(hex(zeroblob(40)), '00', 'Юж'), 1, 60)";

#[tokio::test]
async fn every_page_is_accessible_and_fits_a_phone() {
    walk("ru", &["light"]).await;
}

mod all_looks {
    use super::walk;

    #[tokio::test]
    async fn every_dark_page_in_english_is_accessible() {
        walk("en", &["dark"]).await;
    }
}

/// Visits every page. With a folder for screenshots it only takes these, in both themes.
async fn walk(language: &'static str, themes: &'static [&'static str]) {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &["--language", language]).await;
    let screenshots = environment::screenshots();
    if screenshots.is_none() {
        lengthen_names(&folder).await;
    }
    let demo = Arc::new(demo);
    let map = SiteMap::of(&demo).await;
    let base = demo.base.clone();
    let test = format!("every-page-{language}");
    visit_pages(Arc::clone(&demo), &base, &test, Screen::Desktop, move |page| async move {
        match screenshots {
            Some(folder) => take_screenshots(&page, &map, &folder, language).await,
            None => look_for_mistakes(&page, &map, themes).await,
        }
    })
    .await;
    Arc::into_inner(demo).expect("no other owner of the demo").stop().await;
}

async fn look_for_mistakes(page: &Page, map: &SiteMap, themes: &[&str]) {
    page.add_startup_script(&axe()).await;
    let forgotten = map.forgotten.iter();
    let mut mistakes: Vec<_> = forgotten.map(|route| format!("no link in the demo leads to {route}")).collect();
    for view in &map.views {
        for theme in themes {
            // Before the page is loaded: a change would be animated.
            page.set_color_scheme(theme).await;
            view.open(page).await;
            for width in [DESKTOP, PHONE] {
                page.set_width(width).await;
                let found = page.evaluate_promise(VIOLATIONS).await;
                for violation in found.as_array().into_iter().flatten() {
                    mistakes.push(format!("{} ({theme}, {width}): {}", view.path, violation.as_str().unwrap()));
                }
            }
        }
        let loaded = page.evaluate(LOADED_BYTES).await.as_u64().unwrap();
        // The chat page is the emulator's, which runs on the developer's own machine.
        if view.path != "/chat" && !(1..=MAX_FIRST_LOAD_BYTES).contains(&loaded) {
            mistakes.push(format!("a first load of {} has {loaded} bytes", view.path));
        }
        page.set_width(NARROWEST).await;
        let needed = page.evaluate("document.documentElement.scrollWidth").await;
        if needed.as_u64() > Some(NARROWEST.into()) {
            let culprits = page.evaluate(TOO_WIDE).await;
            mistakes.push(format!("{} needs {needed} px: {culprits}", view.path));
        }
    }
    assert!(mistakes.is_empty(), "{} mistakes:\n{}", mistakes.len(), mistakes.join("\n"));
}

async fn take_screenshots(page: &Page, map: &SiteMap, folder: &Path, language: &str) {
    for view in &map.views {
        for theme in ["light", "dark"] {
            page.set_color_scheme(theme).await;
            view.open(page).await;
            for width in [DESKTOP, PHONE] {
                page.set_width(width).await;
                let name = format!("{}.{language}.{width}.{theme}.png", view.name());
                page.save_full_screenshot(&folder.join(name)).await;
            }
        }
    }
}

/// The source of axe-core, which `cargo xtask test` installs.
fn axe() -> String {
    let path = environment::node_path().join("axe-core/axe.min.js");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// People and sites with names of sixty characters.
async fn lengthen_names(folder: &TempDir) {
    let address = Address::Sqlite(folder.path().join("opora.db"));
    let domain = Domain::open(&address.url(), &address).await.unwrap();
    for statement in LONG_NAMES.split(';') {
        run_sql(&domain, statement).await;
    }
    domain.close().await.unwrap();
}

/// A line for each element that breaks a rule.
const VIOLATIONS: &str = r#"axe.run(document, { resultTypes: ["violations"] }).then((found) =>
    found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)}`)))"#;

/// The size of the page and of what it links to. Photos and parts that are loaded later do not count, files in the
/// browser's cache do.
const LOADED_BYTES: &str = r#"performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
    .filter((one) => ["navigation", "link", "script", "css"].includes(one.initiatorType))
    .reduce((sum, one) => sum + one.encodedBodySize + 300, 0)"#;

/// The widest elements that no ancestor clips or scrolls.
const TOO_WIDE: &str = r#"(() => {
    const clips = (one) => one && one !== document.documentElement
        && (getComputedStyle(one).overflowX !== "visible" || clips(one.parentElement));
    const wide = [...document.querySelectorAll("body *")].filter((one) =>
        one.getBoundingClientRect().right > innerWidth + 1 && !clips(one.parentElement));
    return wide.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)).join(" | ");
})()"#;

impl View {
    /// Opens the page as a person who may see it.
    async fn open(&self, page: &Page) {
        page.set_cookies(&self.cookies).await;
        page.set_width(DESKTOP).await;
        page.goto(&self.path).await;
        page.wait_until("the page is drawn", "document.readyState === 'complete'").await;
        if self.path == "/chat" {
            page.wait_until("the chats are there", "document.querySelector('.chat-entry')").await;
        }
        assert_ne!(page.evaluate("document.title").await, Value::from(""), "{} has no title", self.path);
    }
}
