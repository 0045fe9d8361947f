//! Who is kept out, or has no contract any more, is not expected: places are free, nobody is reminded or missed, and
//! whoever runs the place sees who cannot come.

use std::time::Duration;

use sea_orm::ConnectionTrait;
use workforce::audit;
use workforce::notices::{self, Notice};
use workforce::people;
use workforce::person::Status;
use workforce::shifts::{Shifts, jobs};
use workforce::sites::{AboutContract, AboutSlot, ContractStatus, Hours, Sites};
use workforce::texts::Language;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{Kind, NOON, on_databases};
use crate::kit::queries::Queries;
use crate::overview::running_a_business::make_site;
use crate::shifts::{Yard, opens, person, plans};

on_databases! { [sqlite Sqlite, postgres Postgres]
    whoever_is_kept_out_gives_their_places_back_and_is_neither_reminded_nor_missed,
}

async fn whoever_is_kept_out_gives_their_places_back_and_is_neither_reminded_nor_missed(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    // One that she works in, one that she has missed, and one that is still to come.
    for (after, minutes) in [(-300, 120), (0, 60), (150, 120)] {
        let slot = yard.slot(site, after, minutes, |_| {}).await;
        if after < 0 {
            let sql = format!(
                "INSERT INTO shift_plans (user_id, slot_id, site_id, starts_at, ends_at, created_at, updated_at, missed_at)
                SELECT {}, id, site_id, starts_at, ends_at, 0, 0, 1 FROM time_slots WHERE id = {slot}",
                person(&yard.firm, &anna).await.id
            );
            let missed = yard.firm.app.domain.write(move |db| {
                Box::pin(async move {
                    db.execute_unprepared(&sql).await?;
                    Ok(())
                })
            });
            missed.await.unwrap();
        } else {
            plans(&anna).await;
        }
    }
    opens(&anna, "Shop").await;
    let (app, who) = (yard.firm.app.clone(), person(&yard.firm, &anna).await);
    let (id, by, at) = (who.id, Some(yard.owner.id), app.clock.now());
    app.domain.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, by, at))).await.unwrap();
    let plans = yard.rows("SELECT status FROM shift_plans ORDER BY starts_at").await;
    assert_eq!(plans, [["planned"], ["in_progress"], ["cancelled"]], "what has been stays as it was");
    assert_eq!(yard.rows("SELECT taken FROM time_slots ORDER BY starts_at").await, [["0"], ["1"], ["0"]]);
    let plan: i64 = yard.rows("SELECT id FROM shift_plans WHERE status = 'cancelled'").await[0][0].parse().unwrap();
    let lines = audit::about(&app.domain, ("plan", plan)).await.unwrap();
    assert_eq!(lines.iter().map(|line| line.actor).collect::<Vec<_>>(), [by]);
    for _ in 0..6 {
        jobs::remind(app.clone()).await.unwrap();
        jobs::note_missed(app.clone()).await.unwrap();
        yard.firm.stage.clock().advance(Duration::from_secs(3600));
    }
    assert_eq!(notices::untold(&app.domain).await.unwrap(), [], "nothing is told to anybody");
}

#[tokio::test]
async fn with_a_slot_that_comes_back_nobody_comes_who_was_kept_out_meanwhile() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 90, 120, |slot| slot.capacity = 2).await;
    let (anna, boris) = (yard.worker("Anna", &[site], |_| {}).await, yard.worker("Boris", &[site], |_| {}).await);
    plans(&anna).await;
    plans(&boris).await;
    yard.sites.delete_slot(&yard.owner, slot, 1).await.unwrap();
    let (app, id, by) = (yard.firm.app.clone(), person(&yard.firm, &anna).await.id, Some(yard.owner.id));
    app.domain.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, by, NOON))).await.unwrap();
    yard.sites.restore_slot(&yard.owner, slot).await.unwrap();
    let coming = yard.rows("SELECT user_id, status FROM shift_plans ORDER BY id").await;
    let boris = person(&yard.firm, &boris).await.id;
    assert_eq!(coming, [[id.to_string(), "cancelled".into()], [boris.to_string(), "planned".into()]]);
    assert_eq!(yard.sites.slot(slot).await.unwrap().unwrap().taken, 1);
}

#[tokio::test]
async fn on_the_page_the_place_of_somebody_who_is_blocked_is_free_at_once() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (slot, _) = planned(&cabinet).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await);
    let page = format!("/calendar/slots/{slot}");
    owner.get(&page).await.is(200, "<span>Boris</span>");
    owner.post(&format!("/people/{}/block", boris.id), &[]).await.leads_to(&format!("/people/{}", boris.id));
    owner.get(&page).await.is(200, "<span class=\"chip\">0/2</span>").is(200, "nobody yet");
    cabinet.close().await;
}

#[tokio::test]
async fn nobody_is_written_to_who_is_no_member_any_more() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (app, boris) = (cabinet.app.clone(), cabinet.person(BORIS).await);
    let id = boris.id;
    let notice = |when: &str| Notice::Reminder { site: "Shop".into(), when: when.into() };
    let wait = async |user: i64, when: &str| {
        let told = vec![(user, notice(when))];
        app.domain.write(move |db| Box::pin(notices::write(db, told, NOON))).await.unwrap();
    };
    app.domain.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, None, NOON))).await.unwrap();
    wait(id, "while he is kept out").await;
    notices::tell(app.clone()).await.unwrap();
    assert_eq!(notices::untold(&app.domain).await.unwrap(), [], "it waits for nobody");
    app.domain.write(move |db| Box::pin(people::set_status(db, id, Status::Verified, None, NOON))).await.unwrap();
    wait(id, "once he is back").await;
    notices::tell(app.clone()).await.unwrap();
    cabinet.emulator.hears(BORIS, &notice("once he is back").words(Language::En)).await;
    let texts = cabinet.emulator.texts(BORIS).await;
    assert!(texts.iter().all(|text| !text.contains("while he is kept out")), "{texts:?}");

    people::forget(&app.domain, &app.rooms, &app.files, &boris, None, NOON).await.unwrap();
    wait(id, "after he was forgotten").await;
    notices::tell(app.clone()).await.unwrap();
    assert_eq!(notices::untold(&app.domain).await.unwrap(), []);
    cabinet.app.bot.post("the last", ANNA, "The last").await.unwrap();
    cabinet.emulator.hears(ANNA, "The last").await;
    let log = cabinet.emulator.get("/log?limit=500").await.to_string();
    assert!(log.contains("once he is back") && !log.contains("after he was forgotten"), "no number is a chat: {log}");
    cabinet.close().await;
}

#[tokio::test]
async fn who_is_expected_without_a_contract_is_pointed_out_in_the_calendar_and_on_the_slots_page() {
    let queries = Queries::counted();
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (slot, contract) = planned(&cabinet).await;
    let (owner, anna, doors) = (cabinet.signed_in(ANNA).await, cabinet.person(ANNA).await, Sites::of_app(&cabinet.app));
    let pages = ["/calendar?day=2026-01-05".to_owned(), format!("/calendar/slots/{slot}")];
    let words = "Boris has no active contract for this site any more";
    let mut asked = Vec::new();
    for page in &pages {
        assert!(!owner.get(page).await.is(200, "Boris").body.contains(words));
        asked.push(queries.of(async || owner.get(page).await).await);
    }
    let about = doors.contract(contract).await.unwrap().unwrap().about;
    let ended = AboutContract { status: ContractStatus::Terminated, ..about };
    doors.edit_contract(&anna, contract, 1, ended).await.unwrap();
    for (page, before) in pages.iter().zip(asked) {
        owner.get(page).await.is(200, words);
        assert_eq!(queries.of(async || owner.get(page).await).await, before);
    }
    // What is over is not to be looked at.
    cabinet.clock.advance(Duration::from_secs(5 * 24 * 3600));
    for page in &pages {
        assert!(!owner.get(page).await.is(200, "Boris").body.contains(words));
    }
    cabinet.close().await;
}

#[tokio::test]
async fn all_that_waits_is_told_in_one_run() {
    const NEWS: usize = 250;
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (app, boris) = (cabinet.app.clone(), cabinet.person(BORIS).await);
    let news = |number: usize| Notice::Reminder { site: "Shop".into(), when: format!("No. {number:03}") };
    let waiting: Vec<_> = (0..NEWS).map(|number| (boris.id, news(number))).collect();
    app.domain.write(move |db| Box::pin(notices::write(db, waiting, NOON))).await.unwrap();
    notices::tell(app.clone()).await.unwrap();
    assert_eq!(notices::untold(&app.domain).await.unwrap(), []);
    cabinet.emulator.hears(BORIS, &news(NEWS - 1).words(Language::En)).await;
    let told = cabinet.emulator.texts(BORIS).await;
    assert_eq!(told.iter().filter(|text| text.contains("No. ")).count(), NEWS);
    cabinet.close().await;
}

/// Boris comes to a slot with two places; answers it and his contract.
async fn planned(cabinet: &Cabinet) -> (i64, i64) {
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let owner = cabinet.signed_in(ANNA).await;
    let (site, doors) = (make_site(cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let status = ContractStatus::Active;
    let about = AboutContract { status, rate_kopecks: None, allows_spontaneous: false, sites: vec![site] };
    let contract = doors.create_contract(&anna, boris.id, about).await.unwrap();
    let usual = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(10 * 60, 14 * 60));
    let slot = doors.create_slot(&anna, site, AboutSlot { capacity: 2, ..usual }).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    (slot, contract)
}
