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

use self::inspection::{DESKTOP, Inspection, PHONE};
use self::site_map::{SiteMap, View};
use crate::kit::browser::{Screen, visit_pages};
use crate::kit::demo::Demo;
use crate::kit::page::Page;
use crate::kit::sql::run_sql;

pub mod inspection;
pub mod site_map;

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
    let mut inspection = Inspection::new(page).await;
    for route in &map.forgotten {
        inspection.note(format!("no link in the demo leads to {route}"));
    }
    let mut viewer = None;
    for view in &map.views {
        for theme in themes {
            // Before the page is loaded: a change would be animated.
            page.set_color_scheme(theme).await;
            view.open(page, &mut viewer).await;
            inspection.look(&format!("{} ({theme})", view.path)).await;
        }
        inspection.measure_load(&view.path).await;
        inspection.fits_the_narrowest_phone(&view.path).await;
    }
    inspection.finish();
}

async fn take_screenshots(page: &Page, map: &SiteMap, folder: &Path, language: &str) {
    let mut viewer = None;
    for view in &map.views {
        for theme in ["light", "dark"] {
            page.set_color_scheme(theme).await;
            view.open(page, &mut viewer).await;
            for width in [DESKTOP, PHONE] {
                page.set_width(width).await;
                let name = format!("{}.{language}.{width}.{theme}.png", view.name());
                page.save_full_screenshot(&folder.join(name)).await;
            }
        }
    }
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

impl View {
    /// Opens the page as a person who may see it. `viewer` has the cookies of the page before.
    async fn open<'v>(&'v self, page: &Page, viewer: &mut Option<&'v [(String, String)]>) {
        if *viewer != Some(&self.cookies[..]) {
            page.set_cookies(&self.cookies).await;
            *viewer = Some(&self.cookies);
        }
        page.set_width(DESKTOP).await;
        page.goto(&self.path).await;
        page.wait_until("the page is drawn", "document.readyState === 'complete'").await;
        if self.path == "/chat" {
            page.wait_until("the chats are there", "document.querySelector('.chat-entry')").await;
        }
        assert_ne!(page.evaluate("document.title").await, Value::from(""), "{} has no title", self.path);
    }
}
