//! A page as a person uses it: finds things by their test id or by their words, presses, types, reads, and takes pictures.
//!
//! Everything waits until a deadline for what it looks for, since the page draws when it hears of a change. Nothing here
//! knows a test.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use thirtyfour::error::WebDriverErrorInner;
use thirtyfour::{By, WebDriver, WebElement, WindowHandle};

use crate::kit::browser::Screen;
use crate::kit::demo::{Demo, program, until};

mod forms;

#[derive(Clone)]
pub struct Page {
    pub demo: Arc<Demo>,
    pub screen: Screen,
    /// Where the pages are.
    base: Arc<str>,
    driver: WebDriver,
    name: Arc<str>,
    /// Where the browser puts files.
    downloads: Arc<Path>,
}

impl Page {
    pub fn new(demo: Arc<Demo>, base: &str, driver: WebDriver, name: String, screen: Screen, downloads: &Path) -> Self {
        forget_pictures(&name);
        Self { demo, screen, base: base.into(), driver, name: name.into(), downloads: downloads.into() }
    }

    /// Loads the chat page and waits until it knows its bot.
    pub async fn open(&self) {
        self.driver.goto(&self.demo.page).await.unwrap();
        self.until("the page is ready", READY).await;
    }

    /// The same with the bot of the test, where the emulator has others as well.
    pub async fn open_with_bot(&self) {
        self.driver.goto(format!("{}?bot={}", self.demo.page, self.demo.token)).await.unwrap();
        self.until("the page is ready", READY).await;
    }

    pub async fn reload(&self) {
        self.driver.refresh().await.unwrap();
        self.until("the page is ready again", READY).await;
    }

    /// Goes to another page of the same server.
    pub async fn goto(&self, path: &str) {
        self.driver.goto(format!("{}{path}", self.base)).await.unwrap();
    }

    /// The tab that is looked at.
    pub async fn tab(&self) -> WindowHandle {
        self.driver.window().await.unwrap()
    }

    /// Opens another tab and turns to it.
    pub async fn new_tab(&self) -> WindowHandle {
        let tab = self.driver.new_tab().await.unwrap();
        self.turn_to(&tab).await;
        tab
    }

    pub async fn turn_to(&self, tab: &WindowHandle) {
        self.driver.switch_to_window(tab.clone()).await.unwrap();
    }

    /// Chooses a colour scheme as the browser's settings do: `dark` or `light`.
    pub async fn prefers(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.driver.cdp().send_raw("Emulation.setEmulatedMedia", features).await.unwrap();
    }

    /// Has a script run on every page from now on, before those of the page itself.
    pub async fn runs_first(&self, script: &str) {
        let script = json!({"source": script});
        self.driver.cdp().send_raw("Page.addScriptToEvaluateOnNewDocument", script).await.unwrap();
    }

    /// Leaves the page, so that nothing of it looks for its server any more.
    pub async fn leave(&self) {
        self.driver.goto("about:blank").await.unwrap();
    }

    /// What speaks to this machine, and the session, to be ended.
    pub fn close(self) -> (reqwest::Client, WebDriver) {
        (self.demo.http.clone(), self.driver)
    }

    /// The visible element with a test id.
    pub async fn find(&self, testid: &str) -> WebElement {
        self.find_css(&by_testid(testid)).await
    }

    pub async fn find_css(&self, css: &str) -> WebElement {
        let what = format!("{css} can be seen");
        until(&what, async || {
            let found = self.driver.find(By::Css(css)).await.ok()?;
            found.is_displayed().await.ok()?.then_some(found)
        })
        .await
    }

    /// A file input, which nobody sees.
    pub async fn find_hidden(&self, testid: &str) -> WebElement {
        let css = by_testid(testid);
        until(&css, async || self.driver.find(By::Css(&css)).await.ok()).await
    }

    pub async fn press(&self, testid: &str) {
        self.press_css(&by_testid(testid)).await;
    }

    /// Presses as a mouse does: what lies under something else, moves or is drawn anew is tried again.
    pub async fn press_css(&self, css: &str) {
        let what = format!("{css} can be pressed");
        until(&what, async || click(&self.find_css(css).await).await).await;
    }

    /// Presses the link, the label or the button that reads so.
    pub async fn press_words(&self, css: &str, words: &str) {
        self.press_where(css, words, |shown| shown == words).await;
    }

    /// The same by a condition on what it reads.
    pub async fn press_where(&self, css: &str, words: &str, fits: impl Fn(&str) -> bool) {
        let what = format!("{css} with {words:?} can be pressed");
        until(&what, async || click(&self.reading(css, &fits).await?).await).await;
    }

    /// The visible element whose words are as they should be.
    pub async fn find_where(&self, css: &str, words: &str, fits: impl Fn(&str) -> bool) -> WebElement {
        let what = format!("{css} with {words:?} can be seen");
        until(&what, async || self.reading(css, &fits).await).await
    }

    async fn reading(&self, css: &str, fits: &impl Fn(&str) -> bool) -> Option<WebElement> {
        for found in self.driver.find_all(By::Css(css)).await.ok()? {
            if found.is_displayed().await.ok()? && fits(found.text().await.ok()?.trim()) {
                return Some(found);
            }
        }
        None
    }

    /// Presses the link to a file, and reads it where the browser has put it once all of it is there.
    pub async fn download(&self, testid: &str, name: &str) -> Vec<u8> {
        self.press(testid).await;
        until(&format!("{name} is downloaded"), async || downloaded(&self.downloads, name)).await
    }

    /// Drags from the middle of one element to that of another, as a hand on a mouse does.
    pub async fn drag(&self, from: &str, to: &str) {
        let (from, to) = (self.find_css(from).await, self.find_css(to).await);
        let hand = self.driver.action_chain().move_to_element_center(&from).click_and_hold();
        let hand = hand.move_by_offset(4, 8).move_to_element_center(&to).move_by_offset(2, 2);
        hand.release().perform().await.unwrap();
    }

    /// Replaces what stands in a field.
    pub async fn fill(&self, testid: &str, text: &str) {
        let field = self.find(testid).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    pub async fn type_keys(&self, testid: &str, keys: &str) {
        self.find(testid).await.send_keys(keys).await.unwrap();
    }

    /// Writes a message and sends it: by Enter, or on a phone by the button.
    pub async fn write(&self, text: &str) {
        self.type_keys("composer", text).await;
        match self.screen {
            Screen::Desktop => self.type_keys("composer", "\n").await,
            Screen::Phone => self.press("send").await,
        }
    }

    /// Waits until a test id has exactly this text.
    pub async fn reads(&self, testid: &str, text: &str) {
        let css = by_testid(testid);
        let condition = format!("document.querySelector({})?.innerText.trim() === {}", quoted(&css), quoted(text));
        self.until(&format!("{testid} reads {text:?}"), &condition).await;
    }

    /// Waits until so many elements match.
    pub async fn counts(&self, css: &str, count: usize) {
        let condition = format!("document.querySelectorAll({}).length === {count}", quoted(css));
        self.until(&format!("there are {count} of {css}"), &condition).await;
    }

    pub async fn vanishes(&self, testid: &str) {
        self.counts(&by_testid(testid), 0).await;
    }

    /// Waits until so many bubbles of a side (`bot`, `own`) in a chat contain a text; gives the last one's test id.
    pub async fn bubbles(&self, chat: i64, side: &str, text: &str, count: usize) -> String {
        let bubbles = format!(
            "[...document.querySelectorAll({})].filter((one) => one.innerText.includes({}))",
            quoted(&format!("{} .message.{side}", by_testid(&format!("column-{chat}")))),
            quoted(text),
        );
        let what = format!("{count} bubbles of the {side} say {text:?}");
        self.until(&what, &format!("{bubbles}.length === {count}")).await;
        let testid = self.evaluate(&format!("{bubbles}.at(-1)?.dataset.testid")).await;
        testid.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression of JavaScript is true.
    pub async fn until(&self, what: &str, condition: &str) {
        let condition = format!("Boolean({condition})");
        until(what, async || (self.evaluate(&condition).await == true).then_some(())).await;
    }

    pub async fn evaluate(&self, expression: &str) -> Value {
        let answer = self.driver.execute(format!("return {expression};"), Vec::new()).await;
        answer.unwrap_or_else(|error| panic!("{expression}: {error}")).json().clone()
    }

    /// Nothing sticks out to the right, neither of the window nor of a chat.
    pub async fn fits(&self) {
        let wide = self.evaluate(STICKS_OUT).await;
        assert_eq!(wide, Value::Array(Vec::new()), "wider than their place");
    }

    /// Keeps a picture of the page under `target/screenshots`.
    pub async fn shoot(&self, step: &str) {
        let folder = screenshots();
        std::fs::create_dir_all(&folder).unwrap();
        self.driver.screenshot(&folder.join(format!("{}-{step}.png", self.name))).await.unwrap();
    }

    /// The same of all of the page, also of what has to be scrolled to.
    pub async fn shoot_whole(&self, step: &str) {
        let size = "({ x: 0, y: 0, scale: 1, width: document.documentElement.scrollWidth, \
                    height: document.documentElement.scrollHeight })";
        let clip = self.evaluate(size).await;
        let wish = json!({"captureBeyondViewport": true, "clip": clip});
        let taken = self.driver.cdp().send_raw("Page.captureScreenshot", wish).await.unwrap();
        let picture = STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
        let folder = screenshots();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{}-{step}.png", self.name)), picture).unwrap();
    }

    /// Errors in the browser's console so far. A page that says that somebody else was faster is none.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.driver.browser_log().await.unwrap();
        let severe =
            log.into_iter().filter(|entry| entry.level == "SEVERE" && !entry.message.ends_with("409 (Conflict)"));
        severe.map(|entry| entry.message).collect()
    }
}

const READY: &str =
    r#"document.querySelector("[data-testid='chat-1001']") && document.getElementById("app").ariaBusy === "false""#;

const STICKS_OUT: &str = r#"(() => {
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

/// Whether it could be pressed.
async fn click(found: &WebElement) -> Option<()> {
    let error = found.click().await.err();
    match error.as_deref() {
        None => Some(()),
        Some(
            WebDriverErrorInner::StaleElementReference(_)
            | WebDriverErrorInner::ElementClickIntercepted(_)
            | WebDriverErrorInner::ElementNotInteractable(_),
        ) => None,
        Some(_) => panic!("{found:?}: {error:?}"),
    }
}

/// A file of a folder in which nothing is on its way any more.
fn downloaded(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let mut files = std::fs::read_dir(folder).ok()?.flatten();
    if files.any(|file| file.file_name().to_string_lossy().ends_with(".crdownload")) {
        return None;
    }
    std::fs::read(folder.join(name)).ok()
}

/// A string as JavaScript writes it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// What an earlier run saw is not to be taken for this one's.
fn forget_pictures(name: &str) {
    let pictures = std::fs::read_dir(screenshots()).into_iter().flatten().flatten();
    for picture in pictures.filter(|picture| picture.file_name().to_string_lossy().starts_with(&format!("{name}-"))) {
        std::fs::remove_file(picture.path()).unwrap();
    }
}

/// The folder of the build: the program lies in `target/<profile>`.
fn screenshots() -> PathBuf {
    program().ancestors().nth(2).expect("a program lies in a profile's folder").join("screenshots")
}
