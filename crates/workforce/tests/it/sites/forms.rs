//! What the forms of sites accept, and what they say about fields that do not fit.

use chrono_tz::Tz;
use workforce::person::Permission;
use workforce::sites::{AboutContract, Position, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::overview::business_pages::{MAY, make_site, site_form_with};
use crate::sites::permissions::hire_may;

#[tokio::test]
async fn a_wrong_field_says_what_to_type_and_keeps_the_text() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let wrong =
        site_form_with(&[("name", ""), ("position", "at the corner"), ("time_zone", "Atlantis"), ("rate", "much")]);
    let page = owner.post("/sites", &wrong).await;
    page.is(422, "Enter coordinates, for example 55.7558, 37.6173, or paste a link from a map.");
    page.is(422, "Enter a time zone, for example Moscow or Europe/Moscow, or choose it from the list.");
    page.is(422, "Enter an amount, for example 250 or 250.50.");
    page.is(422, "value=\"at the corner\"").is(422, "value=\"Atlantis\"").is(422, "value=\"much\"");
    page.is(422, "aria-describedby=\"sites-position-error\"").is(422, "id=\"sites-position-error\"");
    // The first wrong field has the focus, and no other.
    let focused: Vec<&str> = page.body.split("<input").filter(|input| input.contains(" autofocus")).collect();
    assert_eq!(focused.len(), 1);
    assert!(focused[0].contains("name=\"name\""), "{focused:?}");
    // A field that fits is not marked.
    assert!(!page.body.contains("error-max_distance"));
    cabinet.close().await;
}

#[tokio::test]
async fn a_site_takes_a_map_link_and_a_city_as_its_zone() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let path = format!("/sites/{site}");
    let link = "https://yandex.ru/maps/?ll=30.0%2C59.0&pt=60.6%2C56.83&z=17";
    let typed = site_form_with(&[("position", link), ("time_zone", "Екатеринбург"), ("rate", "300,50")]);
    owner.post(&path, &[&typed[..], &[("version", "1")]].concat()).await.redirects_to(&path);
    let about = Sites::of_app(&cabinet.app).site(site).await.unwrap().unwrap().about;
    assert_eq!(about.position, Some(Position { latitude: 56.83, longitude: 60.6 }));
    assert_eq!((about.time_zone, about.rate_kopecks), (Tz::Asia__Yekaterinburg, 30_050));
    let short = site_form_with(&[("position", "https://maps.app.goo.gl/AbC")]);
    let refused = owner.post(&path, &[&short[..], &[("version", "2")]].concat()).await;
    refused.is(422, "A short link has no coordinates in it.").is(422, "value=\"https://maps.app.goo.gl/AbC\"");
    cabinet.close().await;
}

#[tokio::test]
async fn a_site_says_that_it_is_deleted_or_never_closes() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let path = format!("/sites/{}", make_site(&cabinet, &owner).await);
    let always = [&site_form_with(&[("opens", "00:00"), ("closes", "00:00")])[..], &[("version", "1")]].concat();
    owner.post(&path, &always).await.redirects_to(&path);
    owner.get("/sites").await.is(200, "around the clock");
    owner.post(&format!("{path}/delete"), &[("version", "2")]).await.redirects_to(&path);
    let page = owner.get(&path).await;
    page.is(200, "data-testid=\"deleted\"").is(200, "Deleted").is(200, "Restore").is(200, "around the clock");
    assert!(!page.body.contains("Deleted sites"), "a deleted site is no closed fold");
    cabinet.close().await;
}

#[tokio::test]
async fn a_task_is_a_bonus_or_a_penalty_without_a_sign() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let tasks = format!("/sites/{site}/tasks");
    for (text, price, amount) in [("Sweep", "penalty", "33,50"), ("Sell", "bonus", "-100"), ("Lock up", "free", "")] {
        let form = [("text", text), ("price", price), ("amount", amount), ("is_mandatory", "on")];
        owner.post(&tasks, &form).await.redirects_to(&tasks);
    }
    let stored = Sites::of_app(&cabinet.app).tasks(site, false).await.unwrap();
    let amounts: Vec<i64> = stored.iter().map(|task| task.about.amount_kopecks).collect();
    assert_eq!(amounts, [-3350, 10_000, 0]);
    let page = owner.get(&tasks).await;
    page.is(200, "penalty 33.50").is(200, "bonus 100").is(200, "no pay");
    // A mandatory task without a price is not free to skip.
    page.is(200, "Skipping it costs 50");
    let empty = owner.post(&tasks, &[("text", "Paint"), ("price", "bonus"), ("amount", "")]).await;
    empty.is(422, "Enter an amount above zero").is(422, "value=\"Paint\"");
    owner.post(&tasks, &[("text", "Paint"), ("amount", "5")]).await.is(422, "Choose an option from the list.");
    cabinet.close().await;
}

#[tokio::test]
async fn a_site_has_tabs_for_what_the_visitor_may_see() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, room) = (cabinet.signed_in(ANNA).await, Sites::of_app(&cabinet.app));
    let (site, anna, boris) =
        (make_site(&cabinet, &owner).await, cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let path = format!("/sites/{site}");
    owner.get(&format!("{path}/staff")).await.is(200, "No one works here yet");
    room.create_contract(&anna, boris.id, AboutContract::active(vec![site])).await.unwrap();
    let overview = owner.get(&path).await;
    overview.is(200, "aria-current=\"page\">Overview</a>").is(200, "Staff<span class=\"count-badge\">1</span>");
    // The day, and what is known of the site.
    overview.is(200, "Nothing planned for the rest of the day.").is(200, "Lenin street, 1").is(200, "250.50");
    owner.get(&format!("{path}/staff")).await.is(200, "Boris").is(200, &format!("/people?site={site}"));
    owner.get(&format!("{path}/tasks")).await.is(200, "data-testid=\"new-task\"");
    owner.get(&format!("{path}/settings")).await.is(200, "data-testid=\"save-site\"").is(200, "Delete Cafe");
    let may = hire_may(&cabinet).await;
    room.set_permissions(&anna, may.id, site, vec![Permission::View]).await.unwrap();
    let manager = cabinet.signed_in(MAY).await;
    let shown = manager.get(&path).await;
    assert!(
        !shown.is(200, "Overview").body.contains("/staff\"") && !shown.body.contains("/settings\""),
        "{}",
        shown.body
    );
    for tab in ["staff", "settings"] {
        manager.get(&format!("{path}/{tab}")).await.is(403, "You don't have access to this page");
    }
    cabinet.close().await;
}
