//! A newcomer registers, is approved with a contract in one step, plans, works and is paid; the owner watches.

use super::owner::{self, SITE, Task};
use super::scene::{HOUR, Scene, TOMORROW, tell};
use super::worker;
use crate::kit::browser::Screen;

const TASK: Task = Task { text: "Lock the back door", kind: "Penalty when skipped", amount: "100", needs_photo: true };

#[tokio::test]
async fn a_newcomer_is_approved_works_and_is_paid_on_phones() {
    tell("newcomer", Screen::Phone, from_registration_to_pay).await;
}

mod all_screens {
    use super::{Screen, from_registration_to_pay, tell};

    #[tokio::test]
    async fn a_newcomer_is_approved_works_and_is_paid() {
        tell("newcomer", Screen::Desktop, from_registration_to_pay).await;
    }
}

async fn from_registration_to_pay(scene: Scene) {
    let page = &scene.page;
    page.navigate("Sites").await;
    owner::adds_site(&scene, &[TASK]).await;
    page.navigate("Calendar").await;
    owner::adds_shift(&scene, TOMORROW, "09:00", "18:00").await;

    worker::registers(&scene, "Boris", "Boris Kim").await;
    scene.at_dashboard().await;
    page.navigate("People").await;
    page.click("Registrations").await;
    page.sees("Boris Kim").await;
    page.click(SITE).await;
    scene.screenshot("1-registration").await;
    page.click("Approve").await;
    page.sees(&format!("Boris Kim is approved and has a contract ({SITE}).")).await;
    scene.screenshot("2-approved").await;
    page.click("Open the person's page").await;
    page.sees("on the team").await;
    scene.screenshot("3-person").await;

    scene.in_chat_of("Boris").await;
    page.sees(&format!("Your site: {SITE}. You can pick up a shift now.")).await;
    worker::picks_up_shift(&scene, "Boris", "Fri", "09:00–18:00").await;
    scene.at_dashboard().await;
    page.navigate("Calendar").await;
    page.click("09:00–18:00…").await;
    page.sees("Who is coming").await;
    page.sees("Boris Kim").await;
    scene.screenshot("4-planned").await;
    page.click("Close").await;

    // Until nine the next morning.
    scene.wait(18 * HOUR);
    worker::clocks_in(&scene, "Boris", "09:00").await;
    scene.at_dashboard().await;
    page.navigate("Today").await;
    page.sees("working since 09:00, until 18:00").await;
    scene.screenshot("5-working").await;

    scene.in_chat_of("Boris").await;
    page.click_newest("✅ My tasks").await;
    page.click_newest("📷 Lock the back door…").await;
    page.sees("Send a photo, video or file for: Lock the back door").await;
    page.sends_picture("tower").await;
    page.sees("✅ Lock the back door").await;
    scene.screenshot("6-task").await;
    scene.wait(9 * HOUR);
    worker::clocks_out(&scene, "Boris", "2,700 ₽").await;

    scene.at_dashboard().await;
    page.navigate("Shifts").await;
    scene.screenshot("7-shifts").await;
    page.click("Boris Kim").await;
    page.sees("Lock the back door").await;
    scene.screenshot("8-shift").await;
    owner::pays(&scene, "Boris Kim", "2,700 ₽").await;

    scene.in_chat_of("Boris").await;
    page.sees("you were paid 2,700 ₽").await;
    worker::opens_menu(page).await;
    page.click_newest("💰 My earnings").await;
    page.sees("Paid: 2,700 ₽, due: 0 ₽").await;
    scene.screenshot("9-earnings").await;
}
