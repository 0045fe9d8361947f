//! What the owner does in the dashboard.

use super::scene::Scene;

pub const SITE: &str = "Corner cafe";
/// Where people of the chat page are with the place *Moscow*.
const POSITION: &str = "https://yandex.ru/maps/213/moscow/?ll=37.61556%2C55.75222&z=16";

pub struct Task {
    pub text: &'static str,
    /// As the form calls it.
    pub kind: &'static str,
    pub amount: &'static str,
    pub needs_photo: bool,
}

/// A site with tasks. The form for a first site is open.
pub async fn adds_site(scene: &Scene, tasks: &[Task]) {
    let page = scene.at_dashboard().await;
    for (label, value) in [
        ("Name", SITE),
        ("Address", "Corner street, 1"),
        ("Coordinates or a map link", POSITION),
        ("Opens", "08:00"),
        ("Closes", "22:00"),
        ("Hourly rate, ₽", "300"),
    ] {
        page.fill_in(label, value).await;
    }
    scene.screenshot("site-form").await;
    page.click("Create").await;
    page.sees("About the site").await;
    page.click("Tasks").await;
    page.sees("What to do in every shift here.").await;
    for task in tasks {
        page.click("New task").await;
        page.fill_in("What to do", task.text).await;
        page.fill_in("Pay", task.kind).await;
        page.fill_in("Amount, ₽", task.amount).await;
        if task.needs_photo {
            page.click("needs a photo").await;
        }
        page.click("Create").await;
        page.sees(task.text).await;
    }
    scene.screenshot("site").await;
}

/// A shift in the calendar, for one person.
pub async fn adds_shift(scene: &Scene, day: &str, from: &str, to: &str) {
    let page = scene.at_dashboard().await;
    page.click("New shift").await;
    for (label, value) in [("Day", day), ("From", from), ("To", to)] {
        page.fill_in(label, value).await;
    }
    scene.screenshot("shift-form").await;
    page.click("Create").await;
    page.sees("Shift added.").await;
    scene.screenshot("calendar").await;
}

/// Pays what is due to a person.
pub async fn pays(scene: &Scene, person: &str, amount: &str) {
    let page = scene.at_dashboard().await;
    page.navigate("Payroll").await;
    page.sees("due").await;
    scene.screenshot("payroll").await;
    page.click(person).await;
    page.sees(amount).await;
    scene.screenshot("payroll-person").await;
    page.click(&format!("Pay {amount}…")).await;
    page.sees("Opora moves no money: mark what you have paid.").await;
    page.click("Mark as paid").await;
    page.sees("Payments").await;
    scene.screenshot("paid").await;
}
