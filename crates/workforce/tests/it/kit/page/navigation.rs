//! The navigation of the pages, as people use it: sidebar, tabs of a phone, and the menu of the person.

use super::Page;
use crate::kit::browser::Screen;

impl Page {
    /// Follows a link of the navigation by its caption.
    pub async fn go_to(&self, place: &str) {
        match self.screen {
            Screen::Desktop => self.press_text("header nav a", place).await,
            Screen::Phone if self.has_bottom_tab(place).await => self.press_text("nav.bottom > a", place).await,
            Screen::Phone => {
                self.press("more").await;
                self.press_text("nav.bottom details a", place).await;
            }
        }
        let title = format!(
            "document.title.length > 0 && [...document.querySelectorAll('header nav a[aria-current]')]
            .some((item) => item.title === {place:?})"
        );
        self.wait_until(&format!("{place} is open"), &title).await;
    }

    /// Follows a tab at the top of a page.
    pub async fn go_to_tab(&self, tab: &str) {
        self.press_text(".page-tabs a", tab).await;
        self.find_where(".page-tabs a[aria-current]", tab, |shown| shown.starts_with(tab)).await;
    }

    /// Signs out by the menu of the person.
    pub async fn sign_out(&self) {
        self.press("account").await;
        self.press("sign-out").await;
        self.find("who").await;
    }

    async fn has_bottom_tab(&self, place: &str) -> bool {
        let tabs = "[...document.querySelectorAll('nav.bottom > a')]";
        self.evaluate(&format!("{tabs}.some((item) => item.title === {place:?})")).await == true
    }
}
