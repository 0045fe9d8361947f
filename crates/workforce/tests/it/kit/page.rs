//! A page in a real browser: finds elements by test id or text, presses, types, reads, takes screenshots.
//!
//! Every method waits until a deadline, because the page redraws when it is told of a change.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use opora_testkit::environment;
use serde_json::{Value, json};
use thirtyfour::error::WebDriverErrorInner;
use thirtyfour::{By, Key, WebDriver, WebElement, WindowHandle};

use crate::kit::browser::Screen;
use crate::kit::demo::{Demo, program, until};

mod forms;
mod labels;
mod navigation;

#[derive(Clone)]
pub struct Page {
    pub demo: Arc<Demo>,
    pub screen: Screen,
    /// The base address of the pages.
    base: Arc<str>,
    driver: WebDriver,
    name: Arc<str>,
    /// The download folder.
    downloads: Arc<Path>,
}

impl Page {
    pub fn new(demo: Arc<Demo>, base: &str, driver: WebDriver, name: String, screen: Screen, downloads: &Path) -> Self {
        remove_old_screenshots(&name);
        Self { demo, screen, base: base.into(), driver, name: name.into(), downloads: downloads.into() }
    }

    /// Loads the chat page and waits until it is ready.
    pub async fn open_chat(&self) {
        self.driver.goto(&self.demo.page).await.unwrap();
        self.wait_until("the page is ready", READY).await;
    }

    /// Loads the chat page of the test's bot, for an emulator with several bots.
    pub async fn open_chat_of_bot(&self) {
        self.driver.goto(format!("{}?bot={}", self.demo.page, self.demo.token)).await.unwrap();
        self.wait_until("the page is ready", READY).await;
    }

    pub async fn reload(&self) {
        self.driver.refresh().await.unwrap();
        self.wait_until("the page is ready again", READY).await;
    }

    /// Opens another path of the same server.
    pub async fn goto(&self, path: &str) {
        self.driver.goto(format!("{}{path}", self.base)).await.unwrap();
    }

    /// The current tab.
    pub async fn tab(&self) -> WindowHandle {
        self.driver.window().await.unwrap()
    }

    /// Opens another tab and switches to it.
    pub async fn new_tab(&self) -> WindowHandle {
        let tab = self.driver.new_tab().await.unwrap();
        self.switch_to(&tab).await;
        tab
    }

    pub async fn switch_to(&self, tab: &WindowHandle) {
        self.driver.switch_to_window(tab.clone()).await.unwrap();
    }

    /// Sets the preferred colour scheme, `dark` or `light`, and ends animations, in which contrasts are not final.
    pub async fn set_color_scheme(&self, scheme: &str) {
        let scheme = json!({"name": "prefers-color-scheme", "value": scheme});
        let features = json!({"features": [scheme, {"name": "prefers-reduced-motion", "value": "reduce"}]});
        self.driver.cdp().send_raw("Emulation.setEmulatedMedia", features).await.unwrap();
    }

    /// Sets the medium, `print` or `screen`, and what the person prefers.
    pub async fn emulate_media(&self, media: &str, preferences: &[(&str, &str)]) {
        let features = preferences.iter().map(|(name, value)| json!({"name": name, "value": value}));
        let media = json!({"media": media, "features": features.collect::<Value>()});
        self.driver.cdp().send_raw("Emulation.setEmulatedMedia", media).await.unwrap();
    }

    /// Presses a key wherever the focus is.
    pub async fn press_key(&self, key: Key) {
        self.driver.action_chain().send_keys(key + "").perform().await.unwrap();
    }

    /// Sets the width of the window, below 600 px as a phone.
    pub async fn set_width(&self, width: u32) {
        let is_phone = width < 600;
        let height = if is_phone { 844 } else { 800 };
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone});
        self.driver.cdp().send_raw("Emulation.setDeviceMetricsOverride", metrics).await.unwrap();
    }

    /// Replaces all cookies of the server.
    pub async fn set_cookies(&self, cookies: &[(String, String)]) {
        let cdp = self.driver.cdp();
        cdp.send_raw("Network.clearBrowserCookies", json!({})).await.unwrap();
        for (name, value) in cookies {
            let cookie = json!({"name": name, "value": value, "url": &*self.base});
            cdp.send_raw("Network.setCookie", cookie).await.unwrap();
        }
    }

    /// Waits for the value of a promise.
    pub async fn evaluate_promise(&self, expression: &str) -> Value {
        let script = format!("const done = arguments[0]; ({expression}).then(done, (error) => done([String(error)]));");
        let answer = self.driver.execute_async(script, Vec::new()).await;
        answer.unwrap_or_else(|error| panic!("{expression}: {error}")).json().clone()
    }

    /// Saves a picture of the whole page, beyond the window.
    pub async fn save_full_screenshot(&self, path: &Path) {
        std::fs::write(path, self.full_picture().await).unwrap();
    }

    /// Runs a script on every later page load, before the page's own scripts.
    pub async fn add_startup_script(&self, script: &str) {
        let script = json!({"source": script});
        self.driver.cdp().send_raw("Page.addScriptToEvaluateOnNewDocument", script).await.unwrap();
    }

    /// Leaves the page, so that it does not look for its server any more.
    pub async fn leave(&self) {
        self.driver.goto("about:blank").await.unwrap();
    }

    /// The HTTP client and the browser session, to be closed.
    pub fn into_parts(self) -> (reqwest::Client, WebDriver) {
        (self.demo.http.clone(), self.driver)
    }

    /// Waits for the visible element with a test id.
    pub async fn find(&self, testid: &str) -> WebElement {
        self.find_css(&by_testid(testid)).await
    }

    /// The field of the chat that takes pictures. It is invisible.
    pub async fn find_file_field(&self) -> WebElement {
        self.find_hidden("file-input-photo").await
    }

    pub async fn find_css(&self, css: &str) -> WebElement {
        let what = format!("{css} can be seen");
        until(&what, async || {
            let found = self.driver.find(By::Css(css)).await.ok()?;
            found.is_displayed().await.ok()?.then_some(found)
        })
        .await
    }

    /// Waits for an element that may be invisible, such as a file input.
    pub async fn find_hidden(&self, testid: &str) -> WebElement {
        let css = by_testid(testid);
        until(&css, async || self.driver.find(By::Css(&css)).await.ok()).await
    }

    pub async fn press(&self, testid: &str) {
        self.press_css(&by_testid(testid)).await;
    }

    /// Clicks. Retries while the element is covered, moving or redrawn.
    pub async fn press_css(&self, css: &str) {
        let what = format!("{css} can be pressed");
        until(&what, async || click(&self.find_css(css).await).await).await;
    }

    /// Clicks the visible element with exactly this text.
    pub async fn press_text(&self, css: &str, words: &str) {
        self.press_where(css, words, |shown| shown == words).await;
    }

    /// Clicks the visible element whose text satisfies the condition. `words` is for the failure message.
    pub async fn press_where(&self, css: &str, words: &str, fits: impl Fn(&str) -> bool) {
        let what = format!("{css} with {words:?} can be pressed");
        let has_told = Cell::new(false);
        until(&what, async || {
            let found = self.find_displayed(css, &fits).await?;
            let clicked = click(&found).await;
            if clicked.is_none() && !has_told.replace(true) {
                // Shown if the test fails.
                eprintln!("{what}: it is there, but something covers it");
            }
            clicked
        })
        .await;
    }

    /// Waits for the visible element whose text satisfies the condition.
    pub async fn find_where(&self, css: &str, words: &str, fits: impl Fn(&str) -> bool) -> WebElement {
        let what = format!("{css} with {words:?} can be seen");
        until(&what, async || self.find_displayed(css, &fits).await).await
    }

    async fn find_displayed(&self, css: &str, fits: &impl Fn(&str) -> bool) -> Option<WebElement> {
        for found in self.driver.find_all(By::Css(css)).await.ok()? {
            if found.is_displayed().await.ok()? && fits(found.text().await.ok()?.trim()) {
                return Some(found);
            }
        }
        None
    }

    /// Presses a download link and returns the complete file.
    pub async fn download(&self, testid: &str, name: &str) -> Vec<u8> {
        self.press(testid).await;
        until(&format!("{name} is downloaded"), async || downloaded(&self.downloads, name)).await
    }

    /// Drags with the mouse from the centre of one element to the centre of another.
    pub async fn drag(&self, from: &str, to: &str) {
        let (from, to) = (self.find_css(from).await, self.find_css(to).await);
        let hand = self.driver.action_chain().move_to_element_center(&from).click_and_hold();
        let hand = hand.move_by_offset(4, 8).move_to_element_center(&to).move_by_offset(2, 2);
        hand.release().perform().await.unwrap();
    }

    /// Replaces the content of a field.
    pub async fn fill(&self, testid: &str, text: &str) {
        let field = self.find(testid).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    pub async fn type_keys(&self, testid: &str, keys: &str) {
        self.find(testid).await.send_keys(keys).await.unwrap();
    }

    /// Sends a chat message: with Enter, or with the button on a phone.
    pub async fn send_text(&self, text: &str) {
        self.type_keys("composer", text).await;
        match self.screen {
            Screen::Desktop => self.type_keys("composer", "\n").await,
            Screen::Phone => self.press("send").await,
        }
    }

    /// Waits until the element has exactly this text.
    pub async fn wait_for_text(&self, testid: &str, text: &str) {
        let css = by_testid(testid);
        let condition =
            format!("document.querySelector({})?.innerText.trim() === {}", js_string(&css), js_string(text));
        self.wait_until(&format!("{testid} reads {text:?}"), &condition).await;
    }

    /// Waits until exactly this many elements match.
    pub async fn wait_for_count(&self, css: &str, count: usize) {
        let condition = format!("document.querySelectorAll({}).length === {count}", js_string(css));
        self.wait_until(&format!("there are {count} of {css}"), &condition).await;
    }

    pub async fn wait_until_gone(&self, testid: &str) {
        self.wait_for_count(&by_testid(testid), 0).await;
    }

    /// Waits until this many bubbles of a side (`bot`, `own`) in a chat contain the text. Returns the last one's test
    /// id.
    pub async fn wait_for_bubbles(&self, chat: i64, side: &str, text: &str, count: usize) -> String {
        let bubbles = format!(
            "[...document.querySelectorAll({})].filter((one) => one.innerText.includes({}))",
            js_string(&format!("{} .message.{side}", by_testid(&format!("column-{chat}")))),
            js_string(text),
        );
        let what = format!("{count} bubbles of the {side} say {text:?}");
        self.wait_until(&what, &format!("{bubbles}.length === {count}")).await;
        let testid = self.evaluate(&format!("{bubbles}.at(-1)?.dataset.testid")).await;
        testid.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a JavaScript expression is true.
    pub async fn wait_until(&self, what: &str, condition: &str) {
        let condition = format!("Boolean({condition})");
        until(what, async || (self.evaluate(&condition).await == true).then_some(())).await;
    }

    pub async fn evaluate(&self, expression: &str) -> Value {
        let answer = self.driver.execute(format!("return {expression};"), Vec::new()).await;
        answer.unwrap_or_else(|error| panic!("{expression}: {error}")).json().clone()
    }

    /// Asserts that nothing overflows to the right, neither the window nor a chat.
    pub async fn assert_no_overflow(&self) {
        let overflowing = self.evaluate(OVERFLOWING).await;
        assert_eq!(overflowing, Value::Array(Vec::new()), "elements that overflow");
    }

    /// Saves a screenshot of a step if a folder for screenshots is set. Drawing them all takes a while.
    pub async fn screenshot(&self, step: &str) {
        if let Some(folder) = environment::screenshots() {
            self.save_screenshot(&folder, step).await;
        }
    }

    /// Like [`Self::screenshot`], of the whole page, beyond the viewport.
    pub async fn screenshot_full(&self, step: &str) {
        if let Some(folder) = environment::screenshots() {
            self.save_full_screenshot(&folder.join(format!("{}-{step}.png", self.name))).await;
        }
    }

    /// Saves a screenshot of a failure under `target/screenshots`.
    pub async fn screenshot_of_failure(&self) {
        let folder = screenshot_folder();
        std::fs::create_dir_all(&folder).unwrap();
        self.save_screenshot(&folder, "failure").await;
    }

    async fn save_screenshot(&self, folder: &Path, step: &str) {
        self.driver.screenshot(&folder.join(format!("{}-{step}.png", self.name))).await.unwrap();
    }

    async fn full_picture(&self) -> Vec<u8> {
        let size = "({ x: 0, y: 0, scale: 1, width: document.documentElement.scrollWidth, \
                    height: document.documentElement.scrollHeight })";
        let clip = self.evaluate(size).await;
        let options = json!({"captureBeyondViewport": true, "clip": clip});
        let taken = self.driver.cdp().send_raw("Page.captureScreenshot", options).await.unwrap();
        STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
    }

    /// Errors in the browser's console so far. A 409 is expected: it tells that another person was faster.
    pub async fn console_errors(&self) -> Vec<String> {
        let log = self.driver.browser_log().await.unwrap();
        let severe =
            log.into_iter().filter(|entry| entry.level == "SEVERE" && !entry.message.ends_with("409 (Conflict)"));
        severe.map(|entry| entry.message).collect()
    }
}

const READY: &str =
    r#"document.querySelector("[data-testid='chat-1001']") && document.getElementById("app").ariaBusy === "false""#;

const OVERFLOWING: &str = r#"(() => {
    const wide = [];
    const page = document.documentElement;
    if (page.scrollWidth > innerWidth) wide.push(`page ${page.scrollWidth} > ${innerWidth}`);
    for (const one of document.querySelectorAll(".list, .card, .chat, .track, .track-list, .people, .chat-list, .composer, .inspector"))
        if (one.scrollWidth > one.clientWidth) wide.push(`${one.className} ${one.scrollWidth} > ${one.clientWidth}`);
    return wide;
})()"#;

pub fn by_testid(testid: &str) -> String {
    format!("[data-testid='{testid}']")
}

/// Returns `None` if the click should be retried. An element that is covered by a bar of the page is scrolled to.
async fn click(found: &WebElement) -> Option<()> {
    let error = found.click().await.err();
    match error.as_deref() {
        None => Some(()),
        Some(WebDriverErrorInner::ElementClickIntercepted(_)) => {
            // The element may be gone by now; then it is looked for again.
            let _ = found.scroll_into_view().await;
            None
        }
        Some(WebDriverErrorInner::StaleElementReference(_) | WebDriverErrorInner::ElementNotInteractable(_)) => None,
        Some(_) => panic!("{found:?}: {error:?}"),
    }
}

/// The file, once no download in the folder is unfinished.
fn downloaded(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let mut files = std::fs::read_dir(folder).ok()?.flatten();
    if files.any(|file| file.file_name().to_string_lossy().ends_with(".crdownload")) {
        return None;
    }
    std::fs::read(folder.join(name)).ok()
}

fn js_string(text: &str) -> String {
    Value::from(text).to_string()
}

/// Removes the screenshots of an earlier run.
fn remove_old_screenshots(name: &str) {
    let pictures = std::fs::read_dir(screenshot_folder()).into_iter().flatten().flatten();
    for picture in pictures.filter(|picture| picture.file_name().to_string_lossy().starts_with(&format!("{name}-"))) {
        std::fs::remove_file(picture.path()).unwrap();
    }
}

/// `target/screenshots`. The program is in `target/<profile>`.
fn screenshot_folder() -> PathBuf {
    program().ancestors().nth(2).expect("the program is in a profile's folder").join("screenshots")
}
