//! An owner's week in a real browser: a site, its tasks, a week of slots; an employee plans, works and is paid.
//!
//! The owner types, ticks and follows links. The employee uses the chat page in a second tab. The dashboard stays open
//! in the first, and exports are read from the download folder.

use std::sync::Arc;
use std::time::Duration;

use opora::clock::Clock;
use thirtyfour::WindowHandle;

use crate::kit::browser::{Screen, visit_pages};
use crate::kit::cabinet::{Cabinet, sent_pins};
use crate::kit::chat::Chat;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::page::Page;

/// He has no open shift yet.
const WORKER: i64 = BORIS;
const SITE: &str = "Corner cafe";
const TASK: &str = "Water the plants";
const LATITUDE: &str = "55.75";
const LONGITUDE: &str = "37.61";
/// By the clock of the site, where it is three in the afternoon of the first of January.
const WEEK: (&str, &str) = ("2026-01-01", "2026-01-07");
const TOMORROW: &str = "Jan 2";
/// Until ten past nine the next morning.
const UNTIL_NEXT_MORNING: Duration = Duration::from_secs((18 * 60 + 10) * 60);
/// The shift ends after eight and a half hours.
const WORKED: Duration = Duration::from_secs((8 * 60 + 30) * 60);

/// Marks the page and suppresses reloads on focus: from here only live updates change it.
const STAYS: &str = r#"(() => {
    window.addEventListener("visibilitychange", (event) => event.stopImmediatePropagation(), true);
    window.stays = true;
    return true;
})()"#;

/// The tabs of the browser.
struct Tabs {
    dashboard: WindowHandle,
    chat: WindowHandle,
}

mod all_screens {
    use super::{Screen, run_a_week};

    #[tokio::test]
    async fn an_owner_runs_a_week_on_a_desktop() {
        run_a_week(Screen::Desktop).await;
    }
}

#[tokio::test]
async fn an_owner_runs_a_week_on_a_phone() {
    run_a_week(Screen::Phone).await;
}

async fn run_a_week(screen: Screen) {
    let (cabinet, base) = Cabinet::on_port().await;
    let clock = cabinet.clock.clone();
    visit_pages(Arc::clone(&cabinet.emulator), &base, "week", screen, move |page| async move {
        sign_in(&page, "/sites", ANNA).await;
        make_site(&page).await;
        give_contract(&page).await;
        fill_week(&page).await;
        let dashboard = open_dashboard(&page).await;
        let tabs = Tabs { dashboard, chat: page.new_tab().await };
        page.open_chat_of_bot().await;
        let boris = Chat::of(&page, WORKER).await;
        plan(&page, &boris).await;
        clock.advance(UNTIL_NEXT_MORNING);
        open_shift(&page, &tabs, &boris).await;
        close_shift(&page, &tabs, &boris, &clock).await;
        look_at_pay(&page).await;
        export(&page).await;
        look_at_shifts(&page).await;
    })
    .await;
    cabinet.close().await;
}

/// Signs in with the PIN from the chat.
pub async fn sign_in(page: &Page, place: &str, telegram_id: i64) {
    page.goto(place).await;
    page.fill("who", &telegram_id.to_string()).await;
    page.press("send-pin").await;
    let pin = page.demo.until("the PIN is in the chat", async |demo| sent_pins(demo, telegram_id).await.pop()).await;
    page.fill("pin", &pin).await;
    page.press("log-in").await;
}

async fn make_site(page: &Page) {
    page.expand("new-site").await;
    let form = "form:has([data-testid='create-site'])";
    for (name, value) in [
        ("name", SITE),
        ("address", "Corner street, 1"),
        ("position", &format!("{LATITUDE}, {LONGITUDE}")),
        ("opens", "00:00"),
        ("closes", "23:59"),
        ("rate", "300"),
        ("late_threshold", "5"),
        ("late_minute", "10"),
    ] {
        page.set_field(&format!("{form} [name='{name}']"), value).await;
    }
    page.tick(form, "Sat").await;
    page.tick(form, "Sun").await;
    screenshot(page, "1-new-site").await;
    page.press("create-site").await;
    page.click("Tasks").await;
    page.expand("new-task").await;
    let form = "form:has([data-testid='create-task'])";
    page.set_field(&format!("{form} [name='text']"), TASK).await;
    page.set_field(&format!("{form} [name='amount']"), "150").await;
    page.press("create-task").await;
    page.wait_for_count("[data-testid='tasks'] > li", 1).await;
    screenshot(page, "2-site").await;
}

async fn give_contract(page: &Page) {
    page.go_to("People").await;
    page.press(&format!("person-{WORKER}")).await;
    page.press_text("main a", "Add or edit contracts").await;
    let form = "[data-testid='new-contract']";
    page.tick(form, "may work unscheduled shifts").await;
    page.tick(form, SITE).await;
    screenshot(page, "3-contract").await;
    page.press_css(&format!("{form} [data-testid='save-contract']")).await;
    page.wait_until("the contract is there", "document.querySelectorAll(\"[data-testid='save-contract']\").length > 1")
        .await;
}

async fn fill_week(page: &Page) {
    page.go_to("Sites").await;
    page.press_text("[data-testid='sites'] a", SITE).await;
    page.press_text("main .headline a", "Calendar").await;
    page.find("calendar").await;
    page.press("fill-open").await;
    page.find("fill").await;
    let (from, to) = WEEK;
    for (name, value) in [("from", from), ("to", to), ("starts", "09:00"), ("ends", "18:00")] {
        page.set_field(&format!("form:has([data-testid='fill']) [name='{name}']"), value).await;
    }
    page.press("fill").await;
    page.wait_until("slots are there", "document.querySelectorAll('.slot').length > 0").await;
    screenshot(page, "4-calendar").await;
    page.press_text(".views a", "Month").await;
    page.find_css(".month[data-testid='calendar']").await;
    page.wait_for_count(".slot", 7).await;
    screenshot(page, "5-month").await;
}

/// Opens the dashboard, which must update itself.
async fn open_dashboard(page: &Page) -> WindowHandle {
    page.press_text("header a", "Opora").await;
    page.wait_for_text("today-working", "0").await;
    page.wait_until("the page is live", "document.documentElement.dataset.live === 'on'").await;
    page.evaluate(STAYS).await;
    page.tab().await
}

/// Waits until the dashboard shows this many people at work, without a full reload.
async fn wait_for_working(page: &Page, working: &str) {
    page.wait_for_text("today-working", working).await;
    assert_eq!(page.evaluate("window.stays").await, true, "the page was reloaded completely");
}

async fn plan(page: &Page, boris: &Chat) {
    page.send_text("/start").await;
    boris.presses("🗓 Pick up a shift").await;
    boris.presses(SITE).await;
    boris.receives("Which day?").await;
    boris.presses_containing(TOMORROW).await;
    boris.receives("What time?").await;
    boris.presses_containing("09:00–18:00").await;
    boris.presses("Yes, I'll be there").await;
    boris.receives(&format!("You're signed up: {SITE}")).await;
    screenshot(page, "6-planned").await;
}

async fn open_shift(page: &Page, tabs: &Tabs, boris: &Chat) {
    page.send_text("/start").await;
    boris.presses("▶️ Clock in").await;
    boris.presses_containing(&format!("· {SITE}")).await;
    boris.receives("Please share your location to show that").await;
    boris.types_position("📍 Share my location", LATITUDE, LONGITUDE).await;
    screenshot(page, "7-position").await;
    boris.sends_position().await;
    boris.receives(&format!("You clocked in at {SITE}")).await;
    page.switch_to(&tabs.dashboard).await;
    wait_for_working(page, "1").await;
    page.wait_for_text("today-late", "1").await;
    screenshot(page, "8-today").await;
    page.set_color_scheme("dark").await;
    screenshot(page, "9-today-dark").await;
    page.set_color_scheme("light").await;
}

async fn close_shift(page: &Page, tabs: &Tabs, boris: &Chat, clock: &Clock) {
    page.switch_to(&tabs.chat).await;
    boris.presses("✅ My tasks").await;
    boris.presses_containing(TASK).await;
    boris.is_offered("✅", TASK).await;
    screenshot(page, "10-task").await;
    clock.advance(WORKED);
    page.send_text("/start").await;
    boris.presses("⏹ Clock out").await;
    boris.presses("Continue to clock out").await;
    boris.receives("Please share your location to clock out").await;
    boris.types_position("📍 Share my location", LATITUDE, LONGITUDE).await;
    boris.sends_position().await;
    boris.receives(&format!("Your shift at {SITE} is over")).await;
    screenshot(page, "11-closed").await;
    page.switch_to(&tabs.dashboard).await;
    wait_for_working(page, "0").await;
}

async fn look_at_pay(page: &Page) {
    page.go_to("Payroll").await;
    page.find("payroll").await;
    screenshot(page, "12-payroll").await;
    page.set_color_scheme("dark").await;
    screenshot(page, "13-payroll-dark").await;
    page.set_color_scheme("light").await;
    let sums = page
        .evaluate("document.querySelector('[data-testid=payroll] tbody tr').innerText.replaceAll('\\u00a0', ' ')")
        .await;
    let sums = sums.as_str().unwrap();
    for amount in ["Boris", "8.50", "2,550 ₽", "150 ₽", "−50 ₽", "2,650 ₽"] {
        assert!(sums.contains(amount), "no {amount} in {sums}");
    }
    page.press_text("[data-testid='payroll'] a", "Boris").await;
    page.find("amounts").await;
    let told = page
        .evaluate("document.querySelector(\"[data-testid='amounts']\").textContent.replaceAll('\\u00a0', ' ')")
        .await;
    let told = told.as_str().unwrap();
    let why = ["8:30", "8.50 h", "300 ₽ an hour", "+2,550 ₽", TASK, "+150 ₽", "min late", "−50 ₽"];
    for words in why {
        assert!(told.contains(words), "no {words} in {told}");
    }
    screenshot(page, "14-earnings").await;
}

/// Reads the exported files from the download folder.
async fn export(page: &Page) {
    page.go_to("Payroll").await;
    let csv = String::from_utf8(page.download("csv", "payroll-2026-01.csv").await).unwrap();
    assert!(csv.contains("\"Boris\",8.50,2550.00,150.00,-50.00,2650.00,0.00,2650.00"), "{csv}");
    let xlsx = page.download("xlsx", "payroll-2026-01.xlsx").await;
    assert_eq!(numbers_of(&xlsx, "Boris"), [8.5, 2550.0, 150.0, -50.0, 2650.0, 0.0, 2650.0]);
}

async fn look_at_shifts(page: &Page) {
    page.go_to("Shifts").await;
    page.find("shifts").await;
    screenshot(page, "15-shifts").await;
    page.press_text("[data-testid='shifts'] a", "Boris").await;
    page.find("shift-tasks").await;
    screenshot(page, "16-shift").await;
    page.go_to("Payroll").await;
    page.go_to_tab("Charts").await;
    page.find("chart-cost").await;
    screenshot(page, "17-charts").await;
}

/// The numbers in the row of a workbook that begins with a name.
fn numbers_of(workbook: &[u8], name: &str) -> Vec<f64> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(workbook)).unwrap();
    let mut part = |path: &str| std::io::read_to_string(archive.by_name(path).unwrap()).unwrap();
    let (texts, sheet) = (part("xl/sharedStrings.xml"), part("xl/worksheets/sheet1.xml"));
    let place = texts.split("<si>").skip(1).position(|text| text.contains(&format!(">{name}<"))).unwrap();
    let row = sheet.split("<row ").find(|row| row.contains(&format!("t=\"s\"><v>{place}</v>"))).unwrap();
    // Cells with a number have no type. A formula has its cached result.
    let cells = row.split("<c ").skip(1).filter(|cell| !cell.split('>').next().unwrap().contains("t=\"s\""));
    let value = |cell: &str| cell.split("<v>").nth(1)?.split('<').next()?.parse().ok();
    cells.filter_map(value).collect()
}

async fn screenshot(page: &Page, step: &str) {
    page.assert_no_overflow().await;
    page.screenshot(step).await;
}
