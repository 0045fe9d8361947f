//! An owner's week in a real browser: a site, its tasks, a week of slots; somebody plans, works and is paid.
//!
//! Everything is done as people do it: the owner types, ticks and follows links; the employee has the chat page in a second
//! tab; meanwhile the dashboard stays open in the first, and what is exported is read from the folder of downloads.

use std::sync::Arc;
use std::time::Duration;

use opora::clock::Clock;
use thirtyfour::WindowHandle;

use crate::kit::browser::{Screen, browse};
use crate::kit::cabinet::{Cabinet, pins_in};
use crate::kit::chat::Chat;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::page::Page;

/// He is not at work yet.
const WORKER: i64 = BORIS;
const SITE: &str = "Corner cafe";
const TASK: &str = "Water the plants";
const LATITUDE: &str = "55.75";
const LONGITUDE: &str = "37.61";
/// By the clock of the site, where it is three in the afternoon of the first of January.
const WEEK: (&str, &str) = ("2026-01-01", "2026-01-07");
const TOMORROW: &str = "02.01";
/// Ten past nine of the next morning.
const UNTIL_NEXT_MORNING: Duration = Duration::from_secs((18 * 60 + 10) * 60);
/// Half past eight hours later it is over.
const WORKED: Duration = Duration::from_secs((8 * 60 + 30) * 60);

/// The page stays as it is, and looking at it again does not load anything: only news of a change does from now on.
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

#[tokio::test]
async fn an_owner_runs_a_week_on_a_desktop() {
    run_a_week(Screen::Desktop).await;
}

#[tokio::test]
async fn an_owner_runs_a_week_on_a_phone() {
    run_a_week(Screen::Phone).await;
}

async fn run_a_week(screen: Screen) {
    let (cabinet, base) = Cabinet::on_a_port().await;
    let clock = cabinet.clock.clone();
    browse(Arc::clone(&cabinet.emulator), &base, "week", screen, move |page| async move {
        sign_in(&page, "/sites", ANNA).await;
        make_site(&page).await;
        give_contract(&page).await;
        fill_week(&page).await;
        let dashboard = watch(&page).await;
        let tabs = Tabs { dashboard, chat: page.new_tab().await };
        page.open_with_bot().await;
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

/// Signs in by the PIN of the chat.
pub async fn sign_in(page: &Page, place: &str, telegram_id: i64) {
    page.goto(place).await;
    page.fill("who", &telegram_id.to_string()).await;
    page.press("send-pin").await;
    let pin = page.demo.until("the PIN is in the chat", async |demo| pins_in(demo, telegram_id).await.pop()).await;
    page.fill("pin", &pin).await;
    page.press("log-in").await;
}

async fn make_site(page: &Page) {
    page.unfold("new-site").await;
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
        page.type_over(&format!("{form} [name='{name}']"), value).await;
    }
    page.tick(form, "Sat").await;
    page.tick(form, "Sun").await;
    shoot(page, "1-new-site").await;
    page.press("create-site").await;
    page.unfold("new-task").await;
    let form = "form:has([data-testid='create-task'])";
    page.type_over(&format!("{form} [name='text']"), TASK).await;
    page.type_over(&format!("{form} [name='amount']"), "150").await;
    page.press("create-task").await;
    page.counts("[data-testid='tasks'] > li", 1).await;
    shoot(page, "2-site").await;
}

async fn give_contract(page: &Page) {
    go_to(page, "People").await;
    page.press(&format!("person-{WORKER}")).await;
    page.press_words("main a", "Contracts: add and edit").await;
    let form = "[data-testid='new-contract']";
    page.tick(form, "may open shifts without a plan").await;
    page.tick(form, SITE).await;
    shoot(page, "3-contract").await;
    page.press_css(&format!("{form} [data-testid='save-contract']")).await;
    page.until("the contract is there", "document.querySelectorAll(\"[data-testid='save-contract']\").length > 1")
        .await;
}

async fn fill_week(page: &Page) {
    go_to(page, "Sites").await;
    page.press_words("[data-testid='sites'] a", SITE).await;
    page.press_words("main .headline a", "Calendar").await;
    page.find("calendar").await;
    page.unfold("fill-open").await;
    let (from, to) = WEEK;
    for (name, value) in [("from", from), ("to", to), ("starts", "09:00"), ("ends", "18:00")] {
        page.type_over(&format!("form:has([data-testid='fill']) [name='{name}']"), value).await;
    }
    page.press("fill").await;
    page.until("slots are there", "document.querySelectorAll('.slot').length > 0").await;
    shoot(page, "4-calendar").await;
    page.press_words(".filters [name='view'] option", "Month").await;
    page.press_words(".filters button", "Show").await;
    page.find_css(".month[data-testid='calendar']").await;
    page.counts(".slot", 7).await;
    shoot(page, "5-month").await;
}

/// Opens the dashboard, which is to change by itself.
async fn watch(page: &Page) -> WindowHandle {
    page.press_words("header a", "Opora").await;
    page.reads("today-working", "0").await;
    page.until("the page is live", "document.documentElement.dataset.live === 'on'").await;
    page.evaluate(STAYS).await;
    page.tab().await
}

/// Waits until so many are at work on the dashboard, which is still the page that was opened.
async fn shows(page: &Page, working: &str) {
    page.reads("today-working", working).await;
    assert_eq!(page.evaluate("window.stays").await, true, "the page was not loaded as a whole");
}

async fn plan(page: &Page, boris: &Chat) {
    page.write("/start").await;
    boris.presses("🗓 Plan a shift").await;
    boris.presses(SITE).await;
    boris.hears("On which day?").await;
    boris.presses_with(TOMORROW).await;
    boris.hears("At which time?").await;
    boris.presses_with("09:00–18:00").await;
    boris.presses("Yes, I will come").await;
    boris.hears(&format!("Planned: {SITE}")).await;
    shoot(page, "6-planned").await;
}

async fn open_shift(page: &Page, tabs: &Tabs, boris: &Chat) {
    page.write("/start").await;
    boris.presses("▶️ Open a shift").await;
    boris.presses_with(&format!("· {SITE}")).await;
    boris.hears("Please share your position, so that").await;
    boris.points_at("📍 Share my position", LATITUDE, LONGITUDE).await;
    shoot(page, "7-position").await;
    boris.sends_position().await;
    boris.hears(&format!("Your shift at {SITE} is open")).await;
    page.turn_to(&tabs.dashboard).await;
    shows(page, "1").await;
    page.reads("today-late", "1").await;
    shoot(page, "8-today").await;
    page.prefers("dark").await;
    shoot(page, "9-today-dark").await;
    page.prefers("light").await;
}

async fn close_shift(page: &Page, tabs: &Tabs, boris: &Chat, clock: &Clock) {
    page.turn_to(&tabs.chat).await;
    boris.presses("✅ My tasks").await;
    boris.presses_with(TASK).await;
    boris.is_offered("✅", TASK).await;
    shoot(page, "10-task").await;
    clock.advance(WORKED);
    page.write("/start").await;
    boris.presses("⏹ Close my shift").await;
    boris.presses("Go on to closing").await;
    boris.hears("Please share your position to close").await;
    boris.points_at("📍 Share my position", LATITUDE, LONGITUDE).await;
    boris.sends_position().await;
    boris.hears(&format!("Your shift at {SITE} is closed")).await;
    shoot(page, "11-closed").await;
    page.turn_to(&tabs.dashboard).await;
    shows(page, "0").await;
}

async fn look_at_pay(page: &Page) {
    go_to(page, "Payroll").await;
    page.find("payroll").await;
    shoot(page, "12-payroll").await;
    page.prefers("dark").await;
    shoot(page, "13-payroll-dark").await;
    page.prefers("light").await;
    let sums = page.evaluate("document.querySelector('.list.pay tbody tr').innerText.replaceAll('\\u00a0', ' ')").await;
    let sums = sums.as_str().unwrap();
    for amount in ["Boris", "8.50", "2,550.00 ₽", "150.00 ₽", "−50.00 ₽", "2,650.00 ₽"] {
        assert!(sums.contains(amount), "no {amount} in {sums}");
    }
    page.press_words(".list.pay a", "Boris").await;
    page.find("amounts").await;
    let told = page
        .evaluate("document.querySelector(\"[data-testid='amounts']\").textContent.replaceAll('\\u00a0', ' ')")
        .await;
    let told = told.as_str().unwrap();
    let why = [
        "8:30",
        "8.50 h",
        "300.00 ₽ an hour",
        "+2,550.00 ₽",
        TASK,
        "+150.00 ₽",
        "5 minutes past the 5 allowed",
        "−50.00 ₽",
    ];
    for words in why {
        assert!(told.contains(words), "no {words} in {told}");
    }
    shoot(page, "14-earnings").await;
}

/// Files as they lie on the owner's disk.
async fn export(page: &Page) {
    go_to(page, "Payroll").await;
    let csv = String::from_utf8(page.download("csv", "payroll-2026-01.csv").await).unwrap();
    assert!(csv.contains("\"Boris\",8.50,2550.00,150.00,-50.00,2650.00,0.00,2650.00"), "{csv}");
    let xlsx = page.download("xlsx", "payroll-2026-01.xlsx").await;
    assert_eq!(numbers_of(&xlsx, "Boris"), [8.5, 2550.0, 150.0, -50.0, 2650.0, 0.0, 2650.0]);
}

async fn look_at_shifts(page: &Page) {
    go_to(page, "Shifts").await;
    page.find("shifts").await;
    shoot(page, "15-shifts").await;
    page.press_words("[data-testid='shifts'] a", "Boris").await;
    page.find("shift-tasks").await;
    shoot(page, "16-shift").await;
    go_to(page, "Charts").await;
    page.find("chart-cost").await;
    shoot(page, "17-charts").await;
}

/// Follows a link of the navigation.
async fn go_to(page: &Page, place: &str) {
    page.press_words("header nav a", place).await;
    page.find_where("header nav a[aria-current]", place, |shown| shown == place).await;
}

/// The numbers in the row of a workbook that begins with a name.
fn numbers_of(workbook: &[u8], name: &str) -> Vec<f64> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(workbook)).unwrap();
    let mut part = |path: &str| std::io::read_to_string(archive.by_name(path).unwrap()).unwrap();
    let (texts, sheet) = (part("xl/sharedStrings.xml"), part("xl/worksheets/sheet1.xml"));
    let place = texts.split("<si>").skip(1).position(|text| text.contains(&format!(">{name}<"))).unwrap();
    let row = sheet.split("<row ").find(|row| row.contains(&format!("t=\"s\"><v>{place}</v>"))).unwrap();
    // Cells with a number have no type; the formula of one has its result beside it.
    let cells = row.split("<c ").skip(1).filter(|cell| !cell.split('>').next().unwrap().contains("t=\"s\""));
    let value = |cell: &str| cell.split("<v>").nth(1)?.split('<').next()?.parse().ok();
    cells.filter_map(value).collect()
}

async fn shoot(page: &Page, step: &str) {
    page.fits().await;
    page.shoot(step).await;
}
