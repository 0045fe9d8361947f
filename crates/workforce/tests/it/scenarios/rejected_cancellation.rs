//! An employee cancels a shift at short notice. The owner rejects the reason, and then takes the decision back.

use super::owner::{self, SITE};
use super::scene::{Scene, TOMORROW, tell};
use super::worker;
use crate::kit::browser::Screen;

#[tokio::test]
async fn a_rejected_cancellation_is_taken_back() {
    tell("cancellation", Screen::Desktop, reject_and_take_back).await;
}

mod all_screens {
    use super::{Screen, reject_and_take_back, tell};

    #[tokio::test]
    async fn a_rejected_cancellation_is_taken_back_on_phones() {
        tell("cancellation", Screen::Phone, reject_and_take_back).await;
    }
}

async fn reject_and_take_back(scene: Scene) {
    let page = &scene.page;
    page.navigate("Sites").await;
    owner::adds_site(&scene, &[]).await;
    page.navigate("Calendar").await;
    owner::adds_shift(&scene, TOMORROW, "10:00", "18:00").await;
    worker::registers(&scene, "Boris", "Boris Kim").await;
    scene.at_dashboard().await;
    page.navigate("People").await;
    page.click("Registrations").await;
    page.click(SITE).await;
    page.click("Approve").await;
    page.sees("Boris Kim is approved").await;
    page.navigate("Calendar").await;
    page.click("10:00–18:00…").await;
    page.fill_in("Assign someone", "Boris Kim").await;
    scene.screenshot("1-assign").await;
    page.click("Assign").await;
    page.click("Close").await;

    scene.in_chat_of("Boris").await;
    page.sees("You've been signed up for a shift").await;
    worker::opens_menu(page).await;
    page.click_newest("📅 My shifts").await;
    scene.screenshot("2-my-shifts").await;
    page.click_newest("✖ Cancel…").await;
    page.sees("Your shift starts in less than 24 h. If your reason isn't accepted, 1,000 ₽ will be deducted.").await;
    scene.screenshot("3-reason").await;
    page.click_newest("Transport").await;
    page.sees("Do you have a document that confirms it?").await;
    page.click_newest("Skip").await;
    page.sees("Send a photo of it if you can.").await;
    page.click_newest("Skip").await;
    page.sees(&format!("Shift cancelled: {SITE}")).await;
    scene.screenshot("4-cancelled").await;

    scene.at_dashboard().await;
    page.navigate("Today").await;
    page.sees("1 cancellation awaiting approval").await;
    scene.screenshot("5-today").await;
    page.click("Decide").await;
    page.sees("If rejected: 500 ₽ for the reason and 500 ₽ for short notice.").await;
    scene.screenshot("6-waiting").await;
    page.click("Reject and deduct 1,000 ₽").await;
    page.sees("1,000 ₽ will be deducted from the employee's pay").await;
    page.screenshot("7-question").await;
    page.click("Reject and deduct 1,000 ₽").await;
    page.sees("Reason rejected, 1,000 ₽ deducted.").await;
    scene.screenshot("8-rejected").await;
    page.navigate("Payroll").await;
    page.click("Boris Kim").await;
    page.sees("−1,000 ₽").await;
    scene.screenshot("9-fine").await;
    scene.in_chat_of("Boris").await;
    page.sees("Your reason for cancelling was not accepted").await;
    page.sees("Deducted: 1,000 ₽").await;

    scene.at_dashboard().await;
    page.navigate("Cancellations").await;
    page.click("Decided").await;
    page.sees("rejected, −1,000 ₽").await;
    scene.screenshot("10-decided").await;
    page.click("Take back").await;
    page.sees("The penalty of 1,000 ₽ will be removed").await;
    page.click("Take back").await;
    page.sees("Decision taken back.").await;
    scene.screenshot("11-taken-back").await;
    page.navigate("Payroll").await;
    page.sees_no("1,000 ₽").await;
    scene.screenshot("12-no-fine").await;
    scene.in_chat_of("Boris").await;
    page.sees("The penalty of 1,000 ₽ was removed.").await;
    scene.screenshot("13-told").await;
}
