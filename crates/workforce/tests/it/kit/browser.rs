//! Runs the steps of a test in its own browser.
//!
//! Promise: browser and demo are stopped even if the steps panic, and a last screenshot is kept. An error in the
//! browser's console fails the test, and so does a demo that does not exit cleanly.

use std::path::PathBuf;
use std::sync::Arc;

use opora_testkit::environment;
use serde_json::json;
use tempfile::TempDir;
use thirtyfour::{ChromeCapabilities, ChromiumLikeCapabilities, LoggingPrefsLogLevel, WebDriver};
use tokio::task::LocalSet;

use crate::kit::chromedriver::Chromedriver;
use crate::kit::demo::{Demo, TIMEOUT, http};
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

/// The sandbox needs privileges that not every machine grants. Only the demo's pages are opened.
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

/// Runs the steps on the chat page of a new demo.
pub async fn visit_chat<Steps>(test: &str, screen: Screen, steps: impl FnOnce(Page) -> Steps)
where
    Steps: Future<Output = ()> + 'static,
{
    visit_chat_of(Demo::start().await, test, screen, steps).await;
}

/// Runs the steps on the chat page of this demo, and stops the demo.
pub async fn visit_chat_of<Steps>(demo: Demo, test: &str, screen: Screen, steps: impl FnOnce(Page) -> Steps)
where
    Steps: Future<Output = ()> + 'static,
{
    let demo = Arc::new(demo);
    let base = demo.base.clone();
    let open_and_steps = move |page: Page| {
        let opened = page.clone();
        let steps = steps(page);
        async move {
            opened.open_chat().await;
            steps.await;
        }
    };
    visit_pages(Arc::clone(&demo), &base, test, screen, open_and_steps).await;
    Arc::into_inner(demo).expect("no other owner of the demo").stop().await;
}

/// Runs the steps on pages that this process serves, beside an emulator.
pub async fn visit_pages<Steps>(
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
    let page = Page::new(emulator, base, driver, name, screen, &download_folder(&profile));
    // A separate task, so that a panic does not prevent the cleanup below.
    let tasks = LocalSet::new();
    let outcome = tasks.run_until(tasks.spawn_local(steps(page.clone()))).await;
    if outcome.is_err() {
        page.screenshot_of_failure().await;
    }
    let console_errors = page.console_errors().await;
    let (client, driver) = page.into_parts();
    let quit = driver.quit().await;
    chromedriver.stop(&client).await;
    if let Err(failure) = outcome {
        std::panic::resume_unwind(failure.into_panic());
    }
    quit.unwrap();
    assert!(console_errors.is_empty(), "the browser complained: {console_errors:#?}");
}

async fn open(url: &str, screen: Screen, profile: &TempDir) -> WebDriver {
    let mut capabilities = ChromeCapabilities::new();
    capabilities.set_binary(environment::chromium().to_str().unwrap()).unwrap();
    capabilities.set_browser_log_level(LoggingPrefsLogLevel::All).unwrap();
    for flag in FLAGS {
        capabilities.add_arg(flag).unwrap();
    }
    capabilities.add_arg(&format!("--user-data-dir={}", profile.path().display())).unwrap();
    let downloads = json!({"download.default_directory": download_folder(profile)});
    capabilities.add_experimental_option("prefs", downloads).unwrap();
    if screen == Screen::Phone {
        // A window cannot be as narrow as a phone, so Chromium emulates one. Twice the pixels would only cost time.
        let metrics = json!({"width": 390, "height": 844, "pixelRatio": 1, "touch": true, "mobile": true});
        capabilities.add_experimental_option("mobileEmulation", json!({"deviceMetrics": metrics})).unwrap();
    }
    let driver = WebDriver::builder(url, capabilities).client(http()).connect().await.unwrap();
    driver.set_page_load_timeout(TIMEOUT).await.unwrap();
    if screen == Screen::Desktop {
        // The viewport should have the size, so the window's frame is added.
        let frame = driver.execute("return [outerWidth - innerWidth, outerHeight - innerHeight];", Vec::new()).await;
        let (across, down): (u32, u32) = frame.unwrap().convert().unwrap();
        driver.set_window_rect(0, 0, 1280 + across, 800 + down).await.unwrap();
    }
    driver
}

/// The download folder. It is removed with the profile.
fn download_folder(profile: &TempDir) -> PathBuf {
    profile.path().join("downloads")
}
