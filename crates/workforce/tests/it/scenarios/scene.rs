//! A browser with two tabs, the chat page and the owner's dashboard, and the clock of the product.

use std::sync::Arc;
use std::time::Duration;

use opora::clock::Clock;
use opora_testkit::pictures;
use thirtyfour::WindowHandle;

use crate::kit::browser::{Screen, visit_pages};
use crate::kit::cabinet::Cabinet;
use crate::kit::page::Page;

/// The clock of the tests stands at three in the afternoon of Thursday, January 1, in Moscow.
pub const TODAY: &str = "2026-01-01";
pub const TOMORROW: &str = "2026-01-02";
pub const HOUR: Duration = Duration::from_secs(60 * 60);

pub struct Scene {
    pub page: Page,
    clock: Clock,
    chat: WindowHandle,
    dashboard: WindowHandle,
}

/// Tells a story in a business on its first day: Anna is its owner, and no one else is known.
pub async fn tell(name: &str, screen: Screen, story: impl AsyncFnOnce(Scene) + 'static) {
    let (cabinet, base) = Cabinet::new_business().await;
    let clock = cabinet.clock.clone();
    visit_pages(Arc::clone(&cabinet.emulator), &base, name, screen, move |page| async move {
        story(Scene::open(page, clock).await).await;
    })
    .await;
    cabinet.close().await;
}

impl Scene {
    /// Anna presses *Start* in the chat and follows the bot's link to the dashboard.
    async fn open(page: Page, clock: Clock) -> Self {
        page.open_chat_of_bot().await;
        let chat = page.tab().await;
        page.click("Anna…").await;
        page.click("Start").await;
        page.click_newest("🖥 Dashboard").await;
        let dashboard = page.click_to_new_tab("http://…").await;
        page.sees("This link opens the account of Anna.").await;
        page.click("Sign in").await;
        page.sees("Hello, Anna!").await;
        Self { page, clock, chat, dashboard }
    }

    /// Looks at the dashboard.
    pub async fn at_dashboard(&self) -> &Page {
        self.page.switch_to(&self.dashboard).await;
        &self.page
    }

    /// Looks at the chat of a person.
    pub async fn in_chat_of(&self, person: &str) -> &Page {
        let page = &self.page;
        page.switch_to(&self.chat).await;
        if page.screen == Screen::Phone {
            page.click("Back to chats").await;
        }
        page.click(&format!("{person}…")).await;
        page
    }

    /// Lets time pass.
    pub fn wait(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// Keeps a picture of what is on the screen, where nothing may scroll sideways.
    pub async fn screenshot(&self, step: &str) {
        self.page.assert_no_overflow().await;
        self.page.screenshot_full(step).await;
    }
}

impl Page {
    /// Writes to the bot.
    pub async fn writes(&self, text: &str) {
        self.fill_in("Message", text).await;
        self.click("Send").await;
    }

    /// Sends a picture, `tower` or `hill`. The file dialog belongs to the system, so the file is given to its field.
    pub async fn sends_picture(&self, name: &str) {
        let field = self.find_file_field().await;
        field.send_keys(pictures::file(name)).await.unwrap();
    }

    /// Shares a position: one of the places that the chat page offers.
    pub async fn shares_location(&self, place: &str) {
        self.click("📍 Share my location").await;
        self.sees("Share a location").await;
        self.click(place).await;
        self.click("Share").await;
    }
}
