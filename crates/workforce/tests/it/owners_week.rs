//! An owner's week in a real browser: a site, its tasks, a week of slots; somebody plans, works and is paid.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use opora::clock::Clock;
use serde_json::json;

use crate::browser::{Screen, browse};
use crate::cabinet::{Cabinet, pins_in};
use crate::demo::{ANNA, BORIS, Demo};
use crate::page::Page;

/// He is not at work yet.
const WORKER: i64 = BORIS;
const SITE: &str = "Corner cafe";
const TASK: &str = "Water the plants";
/// Ten past nine of the next morning by the clock of the site, where it is three in the afternoon.
const UNTIL_NEXT_MORNING: Duration = Duration::from_secs((18 * 60 + 10) * 60);
/// Half past eight hours later it is over.
const WORKED: Duration = Duration::from_secs((8 * 60 + 30) * 60);

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
        page.find("new-site").await;
        make_site(&page).await;
        give_contract(&page).await;
        fill_week(&page).await;
        plan(&page.demo).await;
        clock.advance(UNTIL_NEXT_MORNING);
        work(&page, &clock).await;
        look_at_pay(&page).await;
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
    open(page, "new-site").await;
    for (name, value) in [
        ("name", SITE),
        ("address", "Corner street, 1"),
        ("position", "55.75, 37.61"),
        ("opens", "00:00"),
        ("closes", "23:59"),
        ("rate", "300"),
        ("late_threshold", "5"),
        ("late_minute", "10"),
    ] {
        set(page, &format!("[name='{name}']"), value).await;
    }
    tick(page, "[name='d5'], [name='d6']").await;
    shoot(page, "1-new-site").await;
    page.press("create-site").await;
    page.find("new-task").await;
    open(page, "new-task").await;
    set(page, "#tasks > details:last-of-type [name='text']", TASK).await;
    set(page, "#tasks > details:last-of-type [name='amount']", "150").await;
    page.press("create-task").await;
    page.counts("[data-testid='tasks'] > li", 1).await;
    shoot(page, "2-site").await;
}

async fn give_contract(page: &Page) {
    page.goto("/people").await;
    page.find(&format!("person-{WORKER}")).await;
    let person = page.evaluate(&format!("document.querySelector(\"[data-testid='person-{WORKER}']\").pathname")).await;
    page.goto(&format!("{}/contracts", person.as_str().unwrap())).await;
    page.find("new-contract").await;
    let form = "[data-testid='new-contract']";
    tick(page, &format!("{form} [name='allows_spontaneous'], {form} label.tick:last-of-type [name^='site']")).await;
    tick_site(page, form).await;
    shoot(page, "3-contract").await;
    page.press_css(&format!("{form} [data-testid='save-contract']")).await;
    page.until("the contract is there", "document.querySelectorAll(\"[data-testid='save-contract']\").length > 1")
        .await;
}

async fn fill_week(page: &Page) {
    page.goto("/sites").await;
    let link = format!("[...document.querySelectorAll('a.name')].find(a => a.textContent === {SITE:?}).pathname");
    page.find("sites").await;
    let path = page.evaluate(&link).await;
    let site = path.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    page.goto(&format!("/calendar?site={site}")).await;
    page.find("calendar").await;
    open(page, "fill-open").await;
    let today = page.evaluate("document.querySelector('.day.today').dataset.day").await;
    let today = today.as_str().unwrap();
    set(page, "form[action='/calendar/fill'] [name='from']", today).await;
    let last = page.evaluate(&format!(
        "(() => {{ const day = new Date('{today}T12:00:00Z'); day.setUTCDate(day.getUTCDate() + 6); return day.toISOString().slice(0, 10); }})()"
    )).await;
    set(page, "form[action='/calendar/fill'] [name='to']", last.as_str().unwrap()).await;
    set(page, "form[action='/calendar/fill'] [name='starts']", "09:00").await;
    set(page, "form[action='/calendar/fill'] [name='ends']", "18:00").await;
    page.press("fill").await;
    page.until("slots are there", "document.querySelectorAll('.slot').length > 0").await;
    shoot(page, "4-calendar").await;
    page.goto(&format!("/calendar?site={site}&view=month")).await;
    page.find("calendar").await;
    shoot(page, "5-month").await;
}

async fn plan(demo: &Demo) {
    demo.says(WORKER, "/start").await;
    presses(demo, "🗓 Plan a shift").await;
    presses(demo, SITE).await;
    presses_first(demo, "On which day?", 1).await;
    presses_first(demo, "At which time?", 0).await;
    presses(demo, "Yes, I will come").await;
    demo.hears(WORKER, &format!("Planned: {SITE}")).await;
}

async fn work(page: &Page, clock: &Clock) {
    let demo = &page.demo;
    page.goto("/").await;
    page.find("today-working").await;
    page.until("the page is live", "document.documentElement.dataset.live === 'on'").await;
    page.evaluate("(window.stays = true)").await;
    let count = "Number(document.querySelector(\"[data-testid='today-working']\").textContent)";
    let before = page.evaluate(count).await.as_i64().unwrap();
    demo.says(WORKER, "/start").await;
    presses(demo, "▶️ Open a shift").await;
    presses_with(demo, &format!("· {SITE}")).await;
    share_position(demo).await;
    demo.hears(WORKER, &format!("Your shift at {SITE} is open")).await;
    page.until("the dashboard shows it", &format!("{count} === {}", before + 1)).await;
    assert_eq!(page.evaluate("window.stays").await, true, "the page was not loaded as a whole");
    shoot(page, "6-today").await;
    page.prefers("dark").await;
    shoot(page, "7-today-dark").await;
    page.prefers("light").await;
    presses(demo, "✅ My tasks").await;
    presses_with(demo, TASK).await;
    demo.until("the task is marked", async |demo| {
        offered(demo, |words| words.starts_with("✅") && words.contains(TASK)).await
    })
    .await;
    clock.advance(WORKED);
    demo.says(WORKER, "/start").await;
    presses(demo, "⏹ Close my shift").await;
    presses(demo, "Go on to closing").await;
    share_position(demo).await;
    demo.hears(WORKER, &format!("Your shift at {SITE} is closed")).await;
    page.until("the dashboard shows it", &format!("{count} === {before}")).await;
}

async fn look_at_pay(page: &Page) {
    page.goto("/payroll").await;
    page.find("payroll").await;
    shoot(page, "8-payroll").await;
    page.prefers("dark").await;
    shoot(page, "9-payroll-dark").await;
    page.prefers("light").await;
    let sums = page.evaluate("document.querySelector('.list.pay tbody tr').innerText.replaceAll('\\u00a0', ' ')").await;
    let sums = sums.as_str().unwrap();
    for amount in ["Boris", "8.50", "2,550.00 ₽", "150.00 ₽", "−50.00 ₽", "2,650.00 ₽"] {
        assert!(sums.contains(amount), "no {amount} in {sums}");
    }
    page.press_css(".list.pay a.name").await;
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
    shoot(page, "10-earnings").await;
    page.goto("/shifts").await;
    page.find("shifts").await;
    shoot(page, "11-shifts").await;
    page.press_css("[data-testid^='shift-']").await;
    page.find("shift-tasks").await;
    shoot(page, "12-shift").await;
    page.goto("/charts").await;
    shoot(page, "13-charts").await;
    let csv = String::from_utf8(download(page, "/payroll/export.csv").await).unwrap();
    assert!(csv.contains("\"Boris\",8.50,2550.00,150.00,-50.00,2650.00,0.00,2650.00"), "{csv}");
    let xlsx = download(page, "/payroll/export.xlsx").await;
    assert_eq!(numbers_of(&xlsx, "Boris"), [8.5, 2550.0, 150.0, -50.0, 2650.0, 0.0, 2650.0]);
}

/// A file as the browser gets it.
async fn download(page: &Page, path: &str) -> Vec<u8> {
    let got = page
        .evaluate(&format!(
            "(() => {{ const request = new XMLHttpRequest(); request.open('GET', {path:?}, false); \
             request.overrideMimeType('text/plain; charset=x-user-defined'); request.send(); \
             return request.status + btoa([...request.responseText].map((one) => \
             String.fromCharCode(one.charCodeAt(0) & 255)).join('')); }})()"
        ))
        .await;
    let got = got.as_str().unwrap().strip_prefix("200").unwrap();
    base64::engine::general_purpose::STANDARD.decode(got).unwrap()
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

/// Opens a part that is folded.
async fn open(page: &Page, testid: &str) {
    page.find(testid).await;
    let opened = format!("document.querySelector(\"[data-testid='{testid}']\").closest('details').open = true");
    page.evaluate(&format!("({opened})")).await;
}

async fn set(page: &Page, css: &str, value: &str) {
    page.evaluate(&format!("(document.querySelector({css:?}).value = {value:?})")).await;
}

async fn tick(page: &Page, css: &str) {
    page.evaluate(&format!("document.querySelectorAll({css:?}).forEach(box => {{ box.checked = true; }})")).await;
}

/// Ticks the box of our site.
async fn tick_site(page: &Page, form: &str) {
    let found = format!("[...document.querySelectorAll({:?})]", format!("{form} label.tick"));
    page.evaluate(&format!(
        "{found}.find(label => label.textContent.trim() === {SITE:?}).querySelector('input').checked = true"
    ))
    .await;
}

async fn share_position(demo: &Demo) {
    demo.until("the position is asked for", async |demo| {
        let texts = demo.texts(WORKER).await;
        texts.last().filter(|text| text.starts_with("Please share your position")).map(drop)
    })
    .await;
    let here = json!({"from": WORKER, "location": {"latitude": 55.75, "longitude": 37.61}});
    demo.post(&format!("/chats/{WORKER}/send"), here).await;
}

async fn presses(demo: &Demo, caption: &str) {
    press_found(demo, caption, |words| words == caption).await;
}

async fn presses_with(demo: &Demo, part: &str) {
    press_found(demo, part, |words| words.contains(part)).await;
}

/// Presses a button of the last message, once it has one like this.
async fn press_found(demo: &Demo, what: &str, fits: impl Fn(&str) -> bool) {
    let found = demo.until(&format!("[{what}] is offered"), async |demo| offered(demo, &fits).await).await;
    press(demo, found).await;
}

/// Presses a button of the message that begins so, by its place.
async fn presses_first(demo: &Demo, begins: &str, place: usize) {
    let found = demo
        .until(begins, async |demo| {
            let message = last(demo).await?;
            message["text"].as_str().filter(|text| text.starts_with(begins))?;
            let buttons = message["reply_markup"]["inline_keyboard"].as_array()?;
            let data = buttons.get(place)?[0]["callback_data"].clone();
            Some((message["message_id"].clone(), data))
        })
        .await;
    press(demo, found).await;
}

async fn press(demo: &Demo, (message_id, data): (serde_json::Value, serde_json::Value)) {
    demo.post(&format!("/chats/{WORKER}/press"), json!({"from": WORKER, "message_id": message_id, "data": data})).await;
}

async fn last(demo: &Demo) -> Option<serde_json::Value> {
    let messages = demo.get(&format!("/chats/{WORKER}/messages?after=0&wait=0")).await;
    messages.as_array()?.last().cloned()
}

async fn offered(demo: &Demo, fits: impl Fn(&str) -> bool) -> Option<(serde_json::Value, serde_json::Value)> {
    let message = last(demo).await?;
    let rows = message["reply_markup"]["inline_keyboard"].as_array()?;
    let mut buttons = rows.iter().filter_map(|row| row.as_array()).flatten();
    let data = buttons.find(|button| button["text"].as_str().is_some_and(&fits))?["callback_data"].clone();
    Some((message["message_id"].clone(), data))
}
