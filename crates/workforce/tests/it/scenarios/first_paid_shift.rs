//! From an empty business to the first paid shift, along the checklist of the dashboard.

use super::owner::{self, SITE, Task};
use super::scene::{HOUR, Scene, TODAY, tell};
use super::worker;
use crate::kit::browser::Screen;

const TASK: Task = Task { text: "Water the plants", kind: "Bonus when done", amount: "150", needs_photo: false };

#[tokio::test]
async fn a_business_gets_to_its_first_paid_shift_on_phones() {
    tell("first-shift", Screen::Phone, follow_checklist).await;
}

mod all_screens {
    use super::{Screen, follow_checklist, tell};

    #[tokio::test]
    async fn a_business_gets_to_its_first_paid_shift() {
        tell("first-shift", Screen::Desktop, follow_checklist).await;
    }
}

async fn follow_checklist(scene: Scene) {
    let page = &scene.page;
    page.sees("Set up your business").await;
    scene.screenshot("01-empty").await;

    page.click_beside("Add your first site", "Start").await;
    owner::adds_site(&scene, &[TASK]).await;

    page.navigate("Today").await;
    page.click_beside("Fill the schedule", "Start").await;
    owner::adds_shift(&scene, TODAY, "16:00", "18:00").await;

    page.navigate("Today").await;
    page.click_beside("Invite your team", "Start").await;
    page.click("Copy the link").await;
    page.sees("Copied").await;
    scene.screenshot("02-invitation").await;

    worker::registers(&scene, "Boris", "Boris Kim").await;
    scene.at_dashboard().await;
    page.navigate("Today").await;
    page.sees("1 registration awaiting approval").await;
    scene.screenshot("03-registration-waits").await;
    page.click("Review").await;
    page.sees("Boris Kim").await;
    scene.screenshot("04-registrations").await;
    page.click("Approve").await;
    page.sees("Boris Kim is approved. They need a contract").await;
    scene.screenshot("05-approved").await;

    page.navigate("Today").await;
    page.click_beside("Add the first contract", "Start").await;
    page.fill_in("Employee (start typing a name)", "Boris Kim").await;
    page.click(SITE).await;
    scene.screenshot("06-contract").await;
    page.click("Create").await;
    page.sees("Contract saved").await;
    scene.screenshot("07-contract-saved").await;
    page.navigate("Today").await;
    page.sees("Needs attention").await;
    page.sees_no("Set up your business").await;
    scene.screenshot("08-ready").await;

    scene.in_chat_of("Boris").await;
    page.sees("Welcome to the team!").await;
    page.sees(&format!("Your site: {SITE}. You can pick up a shift now.")).await;
    scene.screenshot("09-welcome").await;
    worker::picks_up_shift(&scene, "Boris", "Thu", "16:00–18:00").await;
    scene.wait(HOUR);
    worker::clocks_in(&scene, "Boris", "16:00").await;
    scene.at_dashboard().await;
    page.navigate("Today").await;
    page.sees("working since 16:00").await;
    scene.screenshot("10-working").await;

    scene.in_chat_of("Boris").await;
    page.click_newest("✅ My tasks").await;
    page.click_newest("⬜ Water the plants…").await;
    page.sees("✅ Water the plants").await;
    scene.screenshot("11-task").await;
    scene.wait(2 * HOUR);
    worker::clocks_out(&scene, "Boris", "750 ₽").await;

    owner::pays(&scene, "Boris Kim", "750 ₽").await;
    scene.in_chat_of("Boris").await;
    page.sees("you were paid 750 ₽").await;
    scene.screenshot("12-paid").await;
}
