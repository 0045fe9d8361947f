//! What the forms of sites accept, and what they say about fields that do not fit.

use chrono_tz::Tz;
use workforce::sites::{Position, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::ANNA;
use crate::kit::firm::StorageKind;
use crate::overview::business_pages::{make_site, site_form_with};

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
    page.is(422, "aria-describedby=\"error-position\"").is(422, "id=\"error-position\"");
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
    let (path, tasks) = (format!("/sites/{site}"), format!("/sites/{site}/tasks"));
    for (text, price, amount) in [("Sweep", "penalty", "33,50"), ("Sell", "bonus", "-100"), ("Lock up", "free", "")] {
        let form = [("text", text), ("price", price), ("amount", amount), ("is_mandatory", "on")];
        owner.post(&tasks, &form).await.redirects_to(&path);
    }
    let stored = Sites::of_app(&cabinet.app).tasks(site, false).await.unwrap();
    let amounts: Vec<i64> = stored.iter().map(|task| task.about.amount_kopecks).collect();
    assert_eq!(amounts, [-3350, 10_000, 0]);
    let page = owner.get(&path).await;
    page.is(200, "penalty 33.50").is(200, "bonus 100").is(200, "no pay");
    // A mandatory task without a price is not free to skip.
    page.is(200, "Skipping it costs 50");
    let empty = owner.post(&tasks, &[("text", "Paint"), ("price", "bonus"), ("amount", "")]).await;
    empty.is(422, "Enter an amount above zero").is(422, "value=\"Paint\"");
    owner.post(&tasks, &[("text", "Paint"), ("amount", "5")]).await.is(422, "Choose an option from the list.");
    cabinet.close().await;
}
