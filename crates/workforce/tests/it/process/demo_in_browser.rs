//! The demo's central flow in a real browser, by what is written on the page: the tour leads to an employee, who clocks
//! in with a ready-made place.

use crate::kit::browser::{Screen, visit_chat_of};
use crate::kit::demo::Demo;
use crate::kit::page::Page;

const SITE: &str = "Coffee house on Tverskaya";

#[tokio::test]
async fn the_tour_leads_to_an_open_shift_on_a_phone() {
    visit(Screen::Phone).await;
}

mod all_screens {
    use super::{Screen, visit};

    #[tokio::test]
    async fn the_tour_leads_to_an_open_shift_on_a_desktop() {
        visit(Screen::Desktop).await;
    }
}

async fn visit(screen: Screen) {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    visit_chat_of(demo, "tour", screen, clock_in).await;
}

async fn clock_in(page: Page) {
    page.sees("Step 1 of 5").await;
    page.screenshot("1-tour").await;
    page.click("Next").await;
    page.sees("Step 2 of 5").await;
    page.assert_no_overflow().await;
    page.click("Open the chat").await;
    page.send_text("/start").await;
    page.click("▶️ Clock in").await;
    page.click(&format!("{SITE}…")).await;
    page.click("📍 Share my location").await;
    page.sees("Share a location").await;
    page.click(SITE).await;
    page.screenshot("2-places").await;
    page.click("Share").await;
    page.sees(&format!("You clocked in at {SITE}")).await;
    page.screenshot("3-clocked-in").await;
    // A closed tour stays closed.
    page.reload().await;
    if page.screen == Screen::Phone {
        page.sees("Edgar Swann").await;
    }
    page.sees("Step 2 of 5").await;
    page.click("Close the tour").await;
    page.reload().await;
    page.wait_until("the tour is closed", "!document.body.innerText.includes('Step 2 of 5')").await;
}
