//! A demo, and a browser of its own that looks at it.
//!
//! Promise: whatever the steps of a test do, browser and demo are stopped, the last picture is kept, and an error in
//! the browser's console fails the test, as does a demo that does not end well.

use std::path::PathBuf;
use std::sync::Arc;

use opora_testkit::environment;
use serde_json::json;
use tempfile::TempDir;
use thirtyfour::{ChromeCapabilities, ChromiumLikeCapabilities, LoggingPrefsLogLevel, WebDriver};
use tokio::task::LocalSet;

use crate::kit::chromedriver::Chromedriver;
use crate::kit::demo::{Demo, PATIENCE, http};
use crate::kit::page::Page;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    Desktop,
    Phone,
}

impl Screen {
    fn name(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Phone => "phone",
        }
    }
}

/// A sandbox needs rights that not every machine gives; nothing but the demo's page is opened.
const FLAGS: [&str; 11] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--lang=en-US",
];

/// Runs the steps of a test on the chat page of a demo.
pub async fn visit<Steps>(test: &str, screen: Screen, steps: impl FnOnce(Page) -> Steps)
where
    Steps: Future<Output = ()> + 'static,
{
    visit_demo(Demo::start().await, test, screen, steps).await;
}

/// The same with a demo that was started in a way of its own.
pub async fn visit_demo<Steps>(demo: Demo, test: &str, screen: Screen, steps: impl FnOnce(Page) -> Steps)
where
    Steps: Future<Output = ()> + 'static,
{
    let demo = Arc::new(demo);
    let base = demo.base.clone();
    let walk = move |page: Page| {
        let opened = page.clone();
        let steps = steps(page);
        async move {
            opened.open().await;
            steps.await;
        }
    };
    browse(Arc::clone(&demo), &base, test, screen, walk).await;
    Arc::into_inner(demo).expect("the steps are over").stop().await;
}

/// Runs the steps of a test on pages that this process serves, with an emulator beside them.
pub async fn browse<Steps>(
    emulator: Arc<Demo>,
    base: &str,
    test: &str,
    screen: Screen,
    steps: impl FnOnce(Page) -> Steps,
) where
    Steps: Future<Output = ()> + 'static,
{
    let chromedriver = Chromedriver::start().await;
    let profile = tempfile::tempdir().unwrap();
    let driver = open(&chromedriver.url, screen, &profile).await;
    let name = format!("{test}-{}", screen.name());
    let page = Page::new(emulator, base, driver, name, screen, &downloads_of(&profile));
    // A task of its own, so that a panic in it does not keep the rest from being put away.
    let tasks = LocalSet::new();
    let walked = tasks.run_until(tasks.spawn_local(steps(page.clone()))).await;
    if walked.is_err() {
        page.shoot("failure").await;
    }
    let complaints = page.complaints().await;
    let (client, driver) = page.close();
    let quit = driver.quit().await;
    chromedriver.stop(&client).await;
    if let Err(failure) = walked {
        std::panic::resume_unwind(failure.into_panic());
    }
    quit.unwrap();
    assert!(complaints.is_empty(), "the browser complained: {complaints:#?}");
}

async fn open(url: &str, screen: Screen, profile: &TempDir) -> WebDriver {
    let mut wanted = ChromeCapabilities::new();
    wanted.set_binary(environment::chromium().to_str().unwrap()).unwrap();
    wanted.set_browser_log_level(LoggingPrefsLogLevel::All).unwrap();
    for flag in FLAGS {
        wanted.add_arg(flag).unwrap();
    }
    wanted.add_arg(&format!("--user-data-dir={}", profile.path().display())).unwrap();
    let downloads = json!({"download.default_directory": downloads_of(profile)});
    wanted.add_experimental_option("prefs", downloads).unwrap();
    if screen == Screen::Phone {
        // A window cannot be as narrow as a phone, so the phone is emulated.
        let metrics = json!({"width": 390, "height": 844, "pixelRatio": 2, "touch": true, "mobile": true});
        wanted.add_experimental_option("mobileEmulation", json!({"deviceMetrics": metrics})).unwrap();
    }
    let driver = WebDriver::builder(url, wanted).client(http()).connect().await.unwrap();
    driver.set_page_load_timeout(PATIENCE).await.unwrap();
    if screen == Screen::Desktop {
        // The frame of a window counts too: what is inside should have the size.
        let frame = driver.execute("return [outerWidth - innerWidth, outerHeight - innerHeight];", Vec::new()).await;
        let (across, down): (u32, u32) = frame.unwrap().convert().unwrap();
        driver.set_window_rect(0, 0, 1280 + across, 800 + down).await.unwrap();
    }
    driver
}

/// Where the browser puts files; they go with its profile.
fn downloads_of(profile: &TempDir) -> PathBuf {
    profile.path().join("downloads")
}
