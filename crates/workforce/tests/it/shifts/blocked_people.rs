//! People who are blocked or have no contract any more are not expected: their places are free, they are neither
//! reminded nor missed, and staff see who cannot come.

use std::time::Duration;

use workforce::audit;
use workforce::notices::{self, Notice};
use workforce::people;
use workforce::person::Status;
use workforce::shifts::{Shifts, jobs};
use workforce::sites::{AboutContract, AboutSlot, ContractStatus, Hours, Sites};
use workforce::texts::Language;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::kit::queries::QueryCounter;
use crate::kit::sql::run_sql;
use crate::notices::chat_notices::all_are_sent;
use crate::overview::business_pages::make_site;
use crate::shifts::{Workplace, about_contract, first_day, opens, person, plans};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_blocked_person_frees_places_and_is_not_missed,
}

async fn a_blocked_person_frees_places_and_is_not_missed(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    // A missed slot, one that she works in, and one in the future.
    for (after, minutes) in [(-300, 120), (0, 60), (150, 120)] {
        let slot = workplace.slot(site, after, minutes, |_| {}).await;
        if after < 0 {
            let sql = format!(
                "INSERT INTO shift_plans (user_id, slot_id, site_id, starts_at, ends_at, created_at, updated_at, missed_at)
                SELECT {}, id, site_id, starts_at, ends_at, 0, 0, 1 FROM time_slots WHERE id = {slot}",
                person(&workplace.firm, &anna).await.id
            );
            run_sql(&workplace.firm.app.domain, sql).await;
        } else {
            plans(&anna).await;
        }
    }
    opens(&anna, "Shop").await;
    let (app, who) = (workplace.firm.app.clone(), person(&workplace.firm, &anna).await);
    let (id, by, at) = (who.id, Some(workplace.owner.id), app.clock.now());
    app.domain.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, by, at))).await.unwrap();
    let plans = workplace.rows("SELECT status FROM shift_plans ORDER BY starts_at").await;
    assert_eq!(plans, [["planned"], ["in_progress"], ["cancelled"]], "past plans are unchanged");
    assert_eq!(workplace.rows("SELECT taken FROM time_slots ORDER BY starts_at").await, [["0"], ["1"], ["0"]]);
    let plan: i64 =
        workplace.rows("SELECT id FROM shift_plans WHERE status = 'cancelled'").await[0][0].parse().unwrap();
    let lines = audit::about(&app.domain, ("plan", plan)).await.unwrap();
    assert_eq!(lines.iter().map(|line| line.actor).collect::<Vec<_>>(), [by]);
    for _ in 0..6 {
        jobs::remind(app.clone()).await.unwrap();
        jobs::note_missed(app.clone()).await.unwrap();
        workplace.firm.stage.clock().advance(Duration::from_secs(3600));
    }
    assert_eq!(notices::unsent(&app.domain).await.unwrap(), [], "no notices");
}

#[tokio::test]
async fn a_restored_slot_has_no_plans_of_blocked_people() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 90, 120, |slot| slot.capacity = 2).await;
    let (anna, boris) =
        (workplace.worker("Anna", &[site], |_| {}).await, workplace.worker("Boris", &[site], |_| {}).await);
    plans(&anna).await;
    plans(&boris).await;
    workplace.sites.delete_slot(&workplace.owner, slot, 1).await.unwrap();
    let (app, id, by) = (workplace.firm.app.clone(), person(&workplace.firm, &anna).await.id, Some(workplace.owner.id));
    app.domain.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, by, NOON))).await.unwrap();
    workplace.sites.restore_slot(&workplace.owner, slot).await.unwrap();
    let coming = workplace.rows("SELECT user_id, status FROM shift_plans ORDER BY id").await;
    let boris = person(&workplace.firm, &boris).await.id;
    assert_eq!(coming, [[id.to_string(), "cancelled".into()], [boris.to_string(), "planned".into()]]);
    assert_eq!(workplace.sites.slot(slot).await.unwrap().unwrap().taken, 1);
}

#[tokio::test]
async fn blocking_on_a_page_frees_the_place() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (slot, _) = plan_for_boris(&cabinet).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await);
    let page = format!("/calendar/slots/{slot}");
    owner.get(&page).await.is(200, "<span>Boris</span>");
    owner.post(&format!("/people/{}/block", boris.id), &[]).await.redirects_to(&format!("/people/{}", boris.id));
    owner.get(&page).await.is(200, "<span class=\"chip\">0/2</span>").is(200, "no one yet");
    cabinet.close().await;
}

#[tokio::test]
async fn a_block_asks_first_and_says_what_happens() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (slot, _) = plan_for_boris(&cabinet).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await);
    let page = format!("/people/{}", boris.id);
    let shown = owner.get(&page).await;
    shown.is(200, &format!("href=\"{page}/block\""));
    assert!(!shown.body.contains(&format!("action=\"{page}/block\"")), "no block by one click");
    let question = owner.get(&format!("{page}/block")).await;
    question.is(200, "Block Boris?").is(200, "Their planned shift will be given back").is(200, "signed out everywhere");
    question.is(200, "Jan 5, 10:00–14:00").is(200, "The bot will tell them");
    assert_eq!(cabinet.person(BORIS).await.status, Status::Verified, "a question changes nothing");
    owner.post(&format!("{page}/block"), &[]).await.redirects_to(&page);
    cabinet.emulator.receives(BORIS, "Your access has been blocked and your planned shift has been cancelled").await;
    owner.get(&format!("{page}/block")).await.is(409, "isn't possible");

    // Unblocking offers the place again, and takes it in the same commit.
    let question = owner.get(&format!("{page}/unblock")).await;
    question.is(200, "Restore the planned shift that is still open").is(200, "Jan 5, 10:00–14:00");
    owner.post(&format!("{page}/unblock"), &[("restores", "on")]).await.redirects_to(&page);
    cabinet.emulator.receives(BORIS, "You have access again, and your planned shift is back").await;
    assert_eq!(Sites::of_app(&cabinet.app).slot(slot).await.unwrap().unwrap().taken, 1);
    let plans = Shifts::of_app(&cabinet.app).plans_of(boris.id, NOON).await.unwrap();
    assert_eq!(plans.iter().map(|plan| plan.slot_id).collect::<Vec<_>>(), [slot]);
    cabinet.close().await;
}

#[tokio::test]
async fn an_unblock_names_shifts_that_are_gone() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (slot, _) = plan_for_boris(&cabinet).await;
    let (owner, anna, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let (page, room) = (format!("/people/{}", boris.id), Sites::of_app(&cabinet.app));
    owner.post(&format!("{page}/block"), &[]).await.redirects_to(&page);
    let version = room.slot(slot).await.unwrap().unwrap().version;
    room.delete_slot(&anna, slot, version).await.unwrap();
    let question = owner.get(&format!("{page}/unblock")).await;
    question.is(200, "can't be restored").is(200, "Jan 5, 10:00–14:00");
    assert!(!question.body.contains("name=\"restores\""), "{}", question.body);
    owner.post(&format!("{page}/unblock"), &[("restores", "on")]).await.redirects_to(&page);
    assert_eq!(cabinet.person(BORIS).await.status, Status::Verified);
    cabinet.emulator.receives(BORIS, "You have access again. You can go on using the bot.").await;
    assert!(Shifts::of_app(&cabinet.app).plans_of(boris.id, NOON).await.unwrap().is_empty());
    cabinet.close().await;
}

#[tokio::test]
async fn former_members_get_no_notices() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (app, boris) = (cabinet.app.clone(), cabinet.person(BORIS).await);
    let id = boris.id;
    let notice = |site: &str| Notice::Reminder { site: site.into(), when: first_day("16:00", "18:00") };
    let wait = async |user: i64, site: &str| {
        let told = vec![(user, notice(site))];
        app.domain.write(move |db| Box::pin(notices::write(db, told, NOON))).await.unwrap();
    };
    app.domain.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, None, NOON))).await.unwrap();
    wait(id, "while he is kept out").await;
    all_are_sent(&app).await;
    app.domain.write(move |db| Box::pin(people::set_status(db, id, Status::Verified, None, NOON))).await.unwrap();
    wait(id, "once he is back").await;
    cabinet.emulator.receives(BORIS, &notice("once he is back").text(Language::En)).await;
    let texts = cabinet.emulator.texts(BORIS).await;
    assert!(texts.iter().all(|text| !text.contains("while he is kept out")), "{texts:?}");

    people::forget(&app.domain, &app.rooms, &app.files, &boris, None, NOON).await.unwrap();
    wait(id, "after he was forgotten").await;
    all_are_sent(&app).await;
    cabinet.app.bot.post("the last", ANNA, "The last").await.unwrap();
    cabinet.emulator.receives(ANNA, "The last").await;
    let log = cabinet.emulator.get("/log?limit=500").await.to_string();
    assert!(
        log.contains("once he is back") && !log.contains("after he was forgotten"),
        "a forgotten person was written to: {log}"
    );
    cabinet.close().await;
}

#[tokio::test]
async fn plans_without_a_contract_get_a_warning() {
    let queries = QueryCounter::install();
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (slot, contract) = plan_for_boris(&cabinet).await;
    let (owner, anna, room) = (cabinet.signed_in(ANNA).await, cabinet.person(ANNA).await, Sites::of_app(&cabinet.app));
    let pages = ["/calendar?day=2026-01-05".to_owned(), format!("/calendar/slots/{slot}")];
    let words = "Boris no longer has an active contract for this site";
    let mut asked = Vec::new();
    for page in &pages {
        assert!(!owner.get(page).await.is(200, "Boris").body.contains(words));
        asked.push(queries.count(async || owner.get(page).await).await);
    }
    let about = room.contract(contract).await.unwrap().unwrap().about;
    let ended = AboutContract { status: ContractStatus::Terminated, ..about };
    room.edit_contract(&anna, contract, 1, ended).await.unwrap();
    for (page, before) in pages.iter().zip(asked) {
        owner.get(page).await.is(200, words);
        assert_eq!(queries.count(async || owner.get(page).await).await, before);
    }
    // Slots in the past get no warning.
    cabinet.clock.advance(Duration::from_secs(5 * 24 * 3600));
    for page in &pages {
        assert!(!owner.get(page).await.is(200, "Boris").body.contains(words));
    }
    cabinet.close().await;
}

#[tokio::test]
async fn all_waiting_notices_are_sent() {
    const NEWS: usize = 250;
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (app, boris) = (cabinet.app.clone(), cabinet.person(BORIS).await);
    let news = |number: usize| Notice::Reminder { site: format!("No. {number:03}"), when: first_day("16:00", "18:00") };
    let waiting: Vec<_> = (0..NEWS).map(|number| (boris.id, news(number))).collect();
    app.domain.write(move |db| Box::pin(notices::write(db, waiting, NOON))).await.unwrap();
    all_are_sent(&app).await;
    cabinet.emulator.receives(BORIS, &news(NEWS - 1).text(Language::En)).await;
    let texts = cabinet.emulator.texts(BORIS).await;
    assert_eq!(texts.iter().filter(|text| text.contains("No. ")).count(), NEWS);
    cabinet.close().await;
}

/// Boris has a plan in a slot with two places. Returns the slot and his contract.
async fn plan_for_boris(cabinet: &Cabinet) -> (i64, i64) {
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let owner = cabinet.signed_in(ANNA).await;
    let (site, room) = (make_site(cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let about = about_contract(&[site], false);
    let contract = room.create_contract(&anna, boris.id, about).await.unwrap();
    let usual = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(10 * 60, 14 * 60));
    let slot = room.create_slot(&anna, site, AboutSlot { capacity: 2, ..usual }).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    (slot, contract)
}
