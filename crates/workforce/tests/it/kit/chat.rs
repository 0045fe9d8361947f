//! The chat page as one of its people uses it: hears the bot, presses its buttons and keys, and says where they are.
//!
//! Everything is done on the page, by what is seen there; nothing here speaks to the emulator behind it.

use crate::kit::page::{Page, by_testid};

pub struct Chat {
    page: Page,
    person: i64,
}

impl Chat {
    /// Chooses a person on the page, which is open.
    pub async fn of(page: &Page, person: i64) -> Self {
        page.press(&format!("chat-{person}")).await;
        page.find("composer").await;
        Self { page: page.clone(), person }
    }

    /// Waits until one message of the bot has these words; gives its test id.
    pub async fn hears(&self, words: &str) -> String {
        self.page.bubbles(self.person, "bot", words, 1).await
    }

    /// Presses the first button of a row of the message with these words.
    pub async fn presses_below(&self, words: &str, row: usize) {
        let message = self.hears(words).await;
        self.page.press(&format!("{}-{row}-0", message.replace("message", "inline"))).await;
    }

    /// Presses a button of the last message, once that is one of the bot's with such a button.
    pub async fn presses(&self, caption: &str) {
        self.page.press_words(&self.buttons(), caption).await;
    }

    /// The same with a button of whose caption a part is known.
    pub async fn presses_with(&self, part: &str) {
        self.page.press_where(&self.buttons(), part, |caption| caption.contains(part)).await;
    }

    /// Waits until the last message has a button that begins and goes on so.
    pub async fn is_offered(&self, start: &str, part: &str) {
        let fits = |caption: &str| caption.starts_with(start) && caption.contains(part);
        self.page.find_where(&self.buttons(), part, fits).await;
    }

    /// Presses the key that asks for a position and types one, which is not sent by that.
    pub async fn points_at(&self, key: &str, latitude: &str, longitude: &str) {
        self.page.press_words(&self.inside(".reply-button"), key).await;
        self.page.fill("location-lat", latitude).await;
        self.page.fill("location-lon", longitude).await;
    }

    pub async fn sends_position(&self) {
        self.page.press("location-confirm").await;
        self.page.vanishes("location-confirm").await;
    }

    fn buttons(&self) -> String {
        self.inside("article.bot:last-of-type .inline-button")
    }

    fn inside(&self, css: &str) -> String {
        format!("{} {css}", by_testid(&format!("column-{}", self.person)))
    }
}
