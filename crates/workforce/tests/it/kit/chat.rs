//! The emulator's chat page, as one person uses it in a browser: reads the bot's messages, presses buttons, shares
//! positions.
//!
//! Everything happens on the page; nothing here calls the emulator.

use crate::kit::page::{Page, by_testid};

pub struct Chat {
    page: Page,
    person: i64,
}

impl Chat {
    /// Selects a person. The chat page must be open.
    pub async fn of(page: &Page, person: i64) -> Self {
        page.press(&format!("chat-{person}")).await;
        page.find("composer").await;
        Self { page: page.clone(), person }
    }

    /// Waits for exactly one message of the bot with this text. Returns its test id.
    pub async fn receives(&self, words: &str) -> String {
        self.page.wait_for_bubbles(self.person, "bot", words, 1).await
    }

    /// Presses the first button in a row of the message with this text.
    pub async fn presses_in_row(&self, words: &str, row: usize) {
        let message = self.receives(words).await;
        self.page.press(&format!("{}-{row}-0", message.replace("message", "inline"))).await;
    }

    /// Presses a button of the bot's last message.
    pub async fn presses(&self, caption: &str) {
        self.page.press_text(&self.buttons(), caption).await;
    }

    /// Presses the button whose caption contains this text.
    pub async fn presses_containing(&self, part: &str) {
        self.page.press_where(&self.buttons(), part, |caption| caption.contains(part)).await;
    }

    /// Waits until the last message has a button with this start and this text.
    pub async fn is_offered(&self, start: &str, part: &str) {
        let fits = |caption: &str| caption.starts_with(start) && caption.contains(part);
        self.page.find_where(&self.buttons(), part, fits).await;
    }

    /// Presses the key that asks for a position and types one, without sending it.
    pub async fn types_position(&self, key: &str, latitude: &str, longitude: &str) {
        self.page.press_text(&self.inside(".reply-button"), key).await;
        self.page.fill("location-lat", latitude).await;
        self.page.fill("location-lon", longitude).await;
    }

    pub async fn sends_position(&self) {
        self.page.press("location-confirm").await;
        self.page.wait_until_gone("location-confirm").await;
    }

    fn buttons(&self) -> String {
        self.inside("article.bot:last-of-type .inline-button")
    }

    fn inside(&self, css: &str) -> String {
        format!("{} {css}", by_testid(&format!("column-{}", self.person)))
    }
}
