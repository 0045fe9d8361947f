//! Pages of a business in a real browser, as an owner, a manager and an employee see them; and two owners at one form.

use std::sync::Arc;

use workforce::application::App;
use workforce::person::{Permission, Permits, Person};
use workforce::settings::TIME_ZONE;
use workforce::sites::{AboutContract, AboutSite, AboutSlot, ContractStatus, Hours, Sites};

use crate::kit::browser::{Screen, browse};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::page::Page;
use crate::overview::owners_week::sign_in;
use crate::overview::running_a_business::MAY;
use crate::sites::permissions::{hire_may, work};

/// What the test does behind the browser's back.
#[derive(Clone)]
struct Backstage {
    app: App,
    anna: Person,
    boris: Person,
    may: Person,
    site: i64,
}

/// Two clicks on a form that carries no number: only the page itself keeps it from being sent twice.
const CLICK_TWICE: &str = r#"(() => {
    const button = document.querySelector("[data-testid='add']");
    button.form.querySelector("[name='once']").remove();
    button.click();
    button.click();
    return true;
})()"#;

#[tokio::test]
async fn a_business_is_run_by_several_people_on_a_desktop() {
    run(Screen::Desktop).await;
}

#[tokio::test]
async fn a_business_is_run_by_several_people_on_a_phone() {
    run(Screen::Phone).await;
}

async fn run(screen: Screen) {
    let (cabinet, base) = Cabinet::on_a_port().await;
    let backstage = set_up(&cabinet).await;
    browse(Arc::clone(&cabinet.emulator), &base, "business", screen, move |page| async move {
        edit_at_once(&page, &backstage).await;
        click_twice(&page, &backstage).await;
        give_permissions(&page, &backstage).await;
        change_settings(&page).await;
        look_as_a_manager(&page).await;
        take_a_place(&page).await;
    })
    .await;
    cabinet.close().await;
}

async fn set_up(cabinet: &Cabinet) -> Backstage {
    let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(cabinet).await);
    let doors = Sites::of_app(&cabinet.app);
    let mut sites = Vec::new();
    for name in ["Corner cafe", "Station kiosk", "Warehouse"] {
        let usual = AboutSite::usual(TIME_ZONE.default);
        let about = AboutSite { name: name.into(), address: "Corner street, 1".into(), rate_kopecks: 30_000, ..usual };
        sites.push(doors.create(&anna, about).await.unwrap());
    }
    let site = sites[0];
    let status = ContractStatus::Active;
    let contract = AboutContract { status, rate_kopecks: None, allows_spontaneous: false, sites };
    doors.create_contract(&anna, boris.id, contract).await.unwrap();
    for (day, from, to) in [("2026-01-05", 8, 16), ("2026-01-05", 16, 23), ("2026-01-06", 9, 18)] {
        let about = AboutSlot::usual(day.parse().unwrap(), Hours::new(from * 60, to * 60));
        doors.create_slot(&anna, site, about).await.unwrap();
    }
    work(cabinet, site, &boris, 352).await;
    doors.permit(&anna, may.id, site, vec![Permission::View, Permission::Schedule]).await.unwrap();
    Backstage { app: cabinet.app.clone(), anna, boris, may, site }
}

/// Another owner is faster: both versions are seen, nothing is lost, and one saves on top.
async fn edit_at_once(page: &Page, backstage: &Backstage) {
    let path = format!("/sites/{}", backstage.site);
    sign_in(page, &path, ANNA).await;
    let name = "form:has([data-testid='save-site']) [name='name']";
    let field = page.find_css(name).await;
    field.clear().await.unwrap();
    field.send_keys("Corner cafe & bakery").await.unwrap();
    let doors = Sites::of_app(&backstage.app);
    let site = doors.of(backstage.site).await.unwrap().unwrap();
    let theirs = AboutSite { name: "Corner bistro".into(), rate_kopecks: 35_000, ..site.about };
    doors.edit(&backstage.anna, site.id, site.version, theirs).await.unwrap();
    page.press("save-site").await;
    page.reads("now-name", "Now: Corner bistro").await;
    page.reads("now-rate", "Now: 350.00").await;
    let typed = format!("document.querySelector(\"{name}\").value === 'Corner cafe & bakery'");
    page.until("what was typed is there", &typed).await;
    page.fits().await;
    page.shoot_whole("1-stale").await;
    page.prefers("dark").await;
    page.shoot_whole("2-stale-dark").await;
    page.prefers("light").await;
    page.press("save-site").await;
    page.until("it is saved", "document.querySelector('h1').textContent === 'Corner cafe & bakery'").await;
    page.counts("[data-testid='notice']", 0).await;
}

/// Whoever clicks twice adds one bonus.
async fn click_twice(page: &Page, backstage: &Backstage) {
    page.goto(&format!("/payroll/people/{}?period=2026-01", backstage.boris.id)).await;
    for (name, typed) in [("amount", "500"), ("reason", "A happy client")] {
        page.find_css(&format!("form:has([data-testid='add']) [name='{name}']")).await.send_keys(typed).await.unwrap();
    }
    page.evaluate(CLICK_TWICE).await;
    page.counts("[data-testid='pay-history'] li", 1).await;
    let lines = backstage.app.payroll.of_person(backstage.boris.id, "2026-01".parse().unwrap()).await.unwrap().lines;
    assert_eq!(lines.iter().filter(|line| line.kind.is_manual()).count(), 1);
}

async fn give_permissions(page: &Page, backstage: &Backstage) {
    page.goto("/managers").await;
    page.find(&format!("manager-{}", backstage.may.id)).await;
    page.fits().await;
    page.shoot("3-managers").await;
    page.press(&format!("edit-{MAY}")).await;
    let finances = format!("[name='finances-{}']", backstage.site);
    page.press_css(&finances).await;
    page.fits().await;
    page.press("save-permissions").await;
    page.counts("[data-testid='permissions-history'] li", 2).await;
    let permits = Sites::of_app(&backstage.app).permits_of(backstage.may.id).await.unwrap();
    let all = [Permission::View, Permission::Schedule, Permission::Finances];
    assert_eq!(permits, Permits::from([(backstage.site, all.into())]));
    page.shoot_whole("4-permissions").await;
    page.prefers("dark").await;
    page.shoot_whole("5-permissions-dark").await;
    page.prefers("light").await;
}

async fn change_settings(page: &Page) {
    page.goto("/settings").await;
    let penalty = page.find_css("[name='mandatory_task_penalty_roubles']").await;
    penalty.clear().await.unwrap();
    penalty.send_keys("75").await.unwrap();
    page.press("save-settings").await;
    page.counts("[data-testid='settings-history'] li", 1).await;
    page.fits().await;
    page.shoot_whole("6-settings").await;
    page.goto("/charts").await;
    page.find("chart-cost").await;
    page.fits().await;
    page.shoot_whole("7-charts").await;
    page.prefers("dark").await;
    page.shoot_whole("8-charts-dark").await;
    page.prefers("light").await;
    page.press("sign-out").await;
    page.find("who").await;
}

async fn look_as_a_manager(page: &Page) {
    sign_in(page, "/payroll", MAY).await;
    page.find("of-sites").await;
    page.counts("[data-testid='payroll'] tbody tr", 1).await;
    page.fits().await;
    page.shoot("9-payroll-of-a-manager").await;
    page.press_css(".list.pay a.name").await;
    page.find("amounts").await;
    page.fits().await;
    page.shoot_whole("10-earnings-of-a-manager").await;
    page.press("sign-out").await;
    page.find("who").await;
}

async fn take_a_place(page: &Page) {
    sign_in(page, "/", BORIS).await;
    page.press("to-schedule").await;
    page.counts("[data-testid='places'] li", 3).await;
    page.press_css("[data-testid='places'] button").await;
    page.counts("[data-testid='own-plans'] li", 1).await;
    page.counts("[data-testid='places'] li", 2).await;
    page.counts("[data-testid='places'] .now", 1).await;
    page.fits().await;
    page.shoot("11-schedule").await;
    page.prefers("dark").await;
    page.shoot("12-schedule-dark").await;
    page.goto("/").await;
    page.fits().await;
    page.shoot("13-home-of-an-employee").await;
}
