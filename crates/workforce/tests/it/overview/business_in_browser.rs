//! Pages of the business in a real browser, for an owner, a manager and an employee; and two owners on one form.

use std::sync::Arc;

use workforce::application::App;
use workforce::person::{Permission, Person, SitePermissions};
use workforce::settings::TIME_ZONE;
use workforce::sites::{AboutContract, AboutSite, AboutSlot, ContractStatus, Hours, Sites};

use crate::kit::browser::{Screen, visit_pages};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::page::Page;
use crate::overview::business_pages::MAY;
use crate::overview::owners_week::sign_in;
use crate::sites::permissions::{hire_may, post_example_shift};

/// The data behind the pages.
#[derive(Clone)]
struct TestData {
    app: App,
    anna: Person,
    boris: Person,
    may: Person,
    site: i64,
}

/// Clicks twice on a form without its idempotency key. Only the page's script prevents a second submit.
const CLICK_TWICE: &str = r#"(() => {
    const button = document.querySelector("[data-testid='add']");
    button.form.querySelector("[name='once']").remove();
    button.click();
    button.click();
    return true;
})()"#;

#[tokio::test]
async fn several_people_use_the_pages_on_a_desktop() {
    run(Screen::Desktop).await;
}

mod all_screens {
    use super::*;

    #[tokio::test]
    async fn several_people_use_the_pages_on_a_phone() {
        run(Screen::Phone).await;
    }
}

async fn run(screen: Screen) {
    let (cabinet, base) = Cabinet::on_port().await;
    let data = set_up(&cabinet).await;
    visit_pages(Arc::clone(&cabinet.emulator), &base, "business", screen, move |page| async move {
        edit_at_once(&page, &data).await;
        click_twice(&page, &data).await;
        give_permissions(&page, &data).await;
        change_settings(&page).await;
        look_as_a_manager(&page).await;
        take_a_place(&page).await;
    })
    .await;
    cabinet.close().await;
}

async fn set_up(cabinet: &Cabinet) -> TestData {
    let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(cabinet).await);
    let room = Sites::of_app(&cabinet.app);
    let mut sites = Vec::new();
    for name in ["Corner cafe", "Station kiosk", "Warehouse"] {
        let usual = AboutSite::usual(TIME_ZONE.default);
        let about = AboutSite { name: name.into(), address: "Corner street, 1".into(), rate_kopecks: 30_000, ..usual };
        sites.push(room.create(&anna, about).await.unwrap());
    }
    let site = sites[0];
    let status = ContractStatus::Active;
    let contract = AboutContract {
        status,
        rate_kopecks: None,
        allows_spontaneous: false,
        sites,
        valid_from: None,
        valid_until: None,
    };
    room.create_contract(&anna, boris.id, contract).await.unwrap();
    for (day, from, to) in [("2026-01-05", 8, 16), ("2026-01-05", 16, 23), ("2026-01-06", 9, 18)] {
        let about = AboutSlot::usual(day.parse().unwrap(), Hours::new(from * 60, to * 60));
        room.create_slot(&anna, site, about).await.unwrap();
    }
    post_example_shift(cabinet, site, &boris, 352).await;
    room.set_permissions(&anna, may.id, site, vec![Permission::View, Permission::Schedule]).await.unwrap();
    TestData { app: cabinet.app.clone(), anna, boris, may, site }
}

/// Another owner saves first. Both versions are shown, nothing is lost, and the first owner saves on top.
async fn edit_at_once(page: &Page, data: &TestData) {
    let path = format!("/sites/{}/settings", data.site);
    sign_in(page, &path, ANNA).await;
    let name = "form:has([data-testid='save-site']) [name='name']";
    let field = page.find_css(name).await;
    field.clear().await.unwrap();
    field.send_keys("Corner cafe & bakery").await.unwrap();
    let room = Sites::of_app(&data.app);
    let site = room.site(data.site).await.unwrap().unwrap();
    let theirs = AboutSite { name: "Corner bistro".into(), rate_kopecks: 35_000, ..site.about };
    room.edit(&data.anna, site.id, site.version, theirs).await.unwrap();
    page.press("save-site").await;
    page.wait_for_text("now-name", "Now: Corner bistro").await;
    page.wait_for_text("now-rate", "Now: 350").await;
    let typed = format!("document.querySelector(\"{name}\").value === 'Corner cafe & bakery'");
    page.wait_until("what was typed is there", &typed).await;
    page.assert_no_overflow().await;
    page.screenshot_full("1-stale").await;
    page.set_color_scheme("dark").await;
    page.screenshot_full("2-stale-dark").await;
    page.set_color_scheme("light").await;
    page.press("save-site").await;
    page.wait_until("it is saved", "document.querySelector('h1').textContent === 'Corner cafe & bakery'").await;
    page.wait_for_count("[data-testid='notice']", 0).await;
}

/// A double click adds one bonus.
async fn click_twice(page: &Page, data: &TestData) {
    page.goto(&format!("/payroll/people/{}?period=2026-01", data.boris.id)).await;
    page.press("ask-add").await;
    for (name, typed) in [("amount", "500"), ("reason", "A happy client")] {
        page.find_css(&format!("form:has([data-testid='add']) [name='{name}']")).await.send_keys(typed).await.unwrap();
    }
    page.evaluate(CLICK_TWICE).await;
    page.wait_for_count("[data-testid='pay-history'] li", 1).await;
    let lines = data.app.payroll.of_person(data.boris.id, "2026-01".parse().unwrap()).await.unwrap().lines;
    assert_eq!(lines.iter().filter(|line| line.kind.is_manual()).count(), 1);
}

async fn give_permissions(page: &Page, data: &TestData) {
    page.goto("/managers").await;
    page.find(&format!("manager-{}", data.may.id)).await;
    page.assert_no_overflow().await;
    page.screenshot("3-managers").await;
    page.press(&format!("edit-{MAY}")).await;
    let finances = format!("[name='finances-{}']", data.site);
    page.press_css(&finances).await;
    page.assert_no_overflow().await;
    page.press("save-permissions").await;
    page.wait_for_count("[data-testid='permissions-history'] li", 2).await;
    let permits = Sites::of_app(&data.app).site_permissions(data.may.id).await.unwrap();
    let all = [Permission::View, Permission::Schedule, Permission::Finances];
    assert_eq!(permits, SitePermissions::from([(data.site, all.into())]));
    page.screenshot_full("4-permissions").await;
    page.set_color_scheme("dark").await;
    page.screenshot_full("5-permissions-dark").await;
    page.set_color_scheme("light").await;
}

async fn change_settings(page: &Page) {
    page.goto("/settings").await;
    let penalty = page.find_css("[name='mandatory_task_penalty']").await;
    penalty.clear().await.unwrap();
    penalty.send_keys("75").await.unwrap();
    page.press("save-settings").await;
    page.wait_for_count("[data-testid='settings-history'] li", 1).await;
    page.assert_no_overflow().await;
    page.screenshot_full("6-settings").await;
    page.goto("/charts").await;
    page.find("chart-cost").await;
    page.assert_no_overflow().await;
    page.screenshot_full("7-charts").await;
    page.set_color_scheme("dark").await;
    page.screenshot_full("8-charts-dark").await;
    page.set_color_scheme("light").await;
    page.sign_out().await;
}

async fn look_as_a_manager(page: &Page) {
    sign_in(page, "/payroll", MAY).await;
    page.find("of-sites").await;
    page.wait_for_count("[data-testid='payroll'] tbody tr", 1).await;
    page.assert_no_overflow().await;
    page.screenshot("9-payroll-of-a-manager").await;
    page.press_css("[data-testid='payroll'] a.name").await;
    page.find("amounts").await;
    page.assert_no_overflow().await;
    page.screenshot_full("10-earnings-of-a-manager").await;
    page.sign_out().await;
}

async fn take_a_place(page: &Page) {
    sign_in(page, "/", BORIS).await;
    page.press("to-schedule").await;
    page.wait_for_count("[data-testid='places'] li", 3).await;
    page.press_css("[data-testid='places'] button").await;
    page.wait_for_count("[data-testid='own-plans'] li", 1).await;
    page.wait_for_count("[data-testid='places'] li", 2).await;
    page.wait_for_count("[data-testid='places'] .now", 1).await;
    page.assert_no_overflow().await;
    page.screenshot("11-schedule").await;
    page.set_color_scheme("dark").await;
    page.screenshot("12-schedule-dark").await;
    page.goto("/").await;
    page.assert_no_overflow().await;
    page.screenshot("13-home-of-an-employee").await;
}
