//! What a newcomer and an employee do in the chat.

use super::owner::SITE;
use super::scene::Scene;
use crate::kit::page::Page;

const MENU: &str = "what would you like to do?";

/// Registers with a phone number, a passport and a selfie.
pub async fn registers(scene: &Scene, person: &str, full_name: &str) {
    let page = scene.in_chat_of(person).await;
    page.click("Start").await;
    page.click_newest("English").await;
    page.click_newest("I agree").await;
    page.sees("What's your first and last name?").await;
    page.writes(full_name).await;
    page.sees("What's your phone number?").await;
    page.click_newest("📱 Share my number").await;
    page.click("Share").await;
    page.sees("What's your email address?").await;
    page.click_newest("Skip").await;
    page.click_newest("Passport").await;
    page.sees("Send a photo of your passport").await;
    page.sends_picture("tower").await;
    page.sees("Now send a selfie").await;
    page.sends_picture("hill").await;
    page.sees("Your registration is awaiting approval.").await;
    scene.screenshot("registered").await;
}

/// Opens the main menu, below everything that was said before.
pub async fn opens_menu(page: &Page) {
    let menus = page.count_of(MENU).await;
    page.writes("/start").await;
    page.sees_more_than(menus, MENU).await;
}

/// Picks up the shift at these hours, day by day.
pub async fn picks_up_shift(scene: &Scene, person: &str, day: &str, hours: &str) {
    let page = scene.in_chat_of(person).await;
    opens_menu(page).await;
    page.click_newest("🗓 Pick up a shift").await;
    page.click_newest(SITE).await;
    page.sees("Which day?").await;
    page.click_newest(&format!("{day}…")).await;
    page.sees("What time?").await;
    page.click_newest(&format!("{hours}…")).await;
    page.sees("300 ₽ an hour").await;
    scene.screenshot("sign-up").await;
    page.click_newest("Yes, I'll be there").await;
    page.sees(&format!("You're signed up: {SITE}")).await;
}

/// Clocks in to the planned shift.
pub async fn clocks_in(scene: &Scene, person: &str, at: &str) {
    let page = scene.in_chat_of(person).await;
    opens_menu(page).await;
    page.click_newest("▶️ Clock in").await;
    page.sees("Which shift are you starting?").await;
    scene.screenshot("clock-in").await;
    page.click_newest("🗓…").await;
    page.sees(&format!("you're at {SITE}")).await;
    page.shares_location("Moscow").await;
    page.sees(&format!("You clocked in at {SITE} at {at}.")).await;
    scene.screenshot("clocked-in").await;
}

/// Clocks out with everything done.
pub async fn clocks_out(scene: &Scene, person: &str, total: &str) {
    let page = scene.in_chat_of(person).await;
    opens_menu(page).await;
    page.click_newest("⏹ Clock out").await;
    page.click_newest("Continue to clock out").await;
    page.sees(&format!("to clock out at {SITE}")).await;
    page.shares_location("Moscow").await;
    page.sees(&format!("Your shift at {SITE} is over")).await;
    page.sees(&format!("Total: {total}")).await;
    scene.screenshot("clocked-out").await;
}
