//! Mistakes that bots of this kind have made before. A test or the design excludes each.
//!
//! | mistake | excluded by |
//! |---|---|
//! | a blocking call to the store in asynchronous code | there is no other way to the stores than an asynchronous one |
//! | an action that does not exist | the compiler: actions are constants and enums |
//! | two handlers for one button | `two_handlers_for_one_button_are_refused` |
//! | handlers that were not imported, a name that hides another | the compiler |
//! | marks that are shown whatever was done | `marks_show_only_completed_tasks` |
//! | a slot's tasks that are lost when the site is closed | `a_slots_tasks_are_listed_when_closing_its_site` |
//! | penalties that become positive in a form | `a_penalty_stays_negative_everywhere` |
//! | marks by index, which move when tasks are edited | `marks_stay_with_their_tasks` |
//! | marks and media lost by a restart | `a_restart_between_any_two_steps_loses_nothing`, in `chat` and `killed` |

use std::time::Duration;

use opora::prelude::*;
use workforce::application;
use workforce::rooms::Rooms;
use workforce::shifts::{ClosedBy, ShiftEnd, ShiftStart, Shifts, tasks_of};

use super::{
    Workplace, about_contract, chooses_from_menu, closes, goes_on_to_close, is_notified, opens, plans, shares_position,
    task,
};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::overview::business_pages::{make_site, sql};

on_databases! { [sqlite Sqlite, postgres Postgres]
    marks_stay_with_their_tasks,
    a_penalty_stays_negative_everywhere,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "doubled")]
enum Doubled {
    Waiting,
}

async fn one(_: &mut Turn, _: Press) -> Step<Doubled> {
    Ok(Next::Stay)
}

#[test]
fn two_handlers_for_one_button_are_refused() {
    let all = application::script(&Rooms::all());
    assert_eq!(all.check(), Ok(()));
    let way = |dialogue: Dialogue<Doubled>| dialogue.on(Doubled::WAITING, button("doubled:go"), one);
    let refused = |dialogue: Dialogue<Doubled>| {
        let found = application::script(&Rooms::all()).dialogue(dialogue).check().unwrap_err();
        format!("{found:?}")
    };
    let doubled = way(way(Dialogue::new().start(button("doubled:begin"), one)));
    assert!(refused(doubled).contains("is never reached"));
    // The same for an entry that two rooms share.
    let taken = way(Dialogue::new().start(button("close:begin"), one));
    assert!(refused(taken).contains("both start by"));
}

#[tokio::test]
async fn marks_show_only_completed_tasks() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    for text in ["Sweep", "Mop"] {
        workplace.task(site, None, text, 5_000).await;
    }
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    anna.sees("⬜ Sweep · bonus 50\u{a0}₽\n⬜ Mop");
    chooses_from_menu(&anna, "✅ My tasks").await;
    anna.sees("⬜ Sweep · bonus 50\u{a0}₽\n⬜ Mop");
    anna.presses("⬜ Mop").await;
    anna.sees("⬜ Sweep · bonus 50\u{a0}₽\n✅ Mop");
    chooses_from_menu(&anna, "⏹ Clock out").await;
    anna.sees("⬜ Sweep · bonus 50\u{a0}₽\n✅ Mop");
}

#[tokio::test]
async fn a_slots_tasks_are_listed_when_closing_its_site() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 0, 480, |slot| slot.penalises_lateness = false).await;
    workplace.task(site, Some(slot), "Of the slot", 1_000).await;
    workplace.task(site, None, "Of the site", -500).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    chooses_from_menu(&anna, "✅ My tasks").await;
    anna.presses("⬜ Of the slot").await;
    chooses_from_menu(&anna, "🔒 Close a site").await;
    anna.presses("Shop").await;
    anna.sees("✅ Of the slot · bonus 10\u{a0}₽\n⬜ Of the site · penalty 5\u{a0}₽");
    goes_on_to_close(&anna).await;
    shares_position(&anna).await;
    let expected = "Bonus for a task “Of the slot”: +10\u{a0}₽\nTask not done “Of the site”: −5";
    is_notified(&workplace, &anna, expected).await;
}

async fn marks_stay_with_their_tasks(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let mut ids = Vec::new();
    for (text, kopecks) in [("First", -1_000), ("Second", 2_000), ("Third", -3_000)] {
        ids.push(workplace.task(site, None, text, kopecks).await);
    }
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    chooses_from_menu(&anna, "✅ My tasks").await;
    anna.presses("⬜ Second").await;
    let rows = workplace.rows("SELECT text, done_at FROM shift_tasks ORDER BY place").await;
    assert_eq!(rows[1], ["Second", &NOON.0.to_string()], "it is in the database at once");
    // The first task of the site is deleted, the second changes its price, and another one is added.
    workplace.sites.delete_task(&workplace.owner, ids[0], 1).await.unwrap();
    workplace.sites.edit_task(&workplace.owner, ids[1], 1, task("Second, but dearer", 99_900)).await.unwrap();
    workplace.task(site, None, "Fourth", -9_900).await;
    let fresh = workplace.firm.stage.restart().await;
    let anna = anna.on(&fresh);
    anna.presses("⬜ Third").await;
    anna.sees("⬜ First · penalty 10\u{a0}₽\n✅ Second · bonus 20\u{a0}₽\n✅ Third · penalty 30\u{a0}₽");
    fresh.advance(Duration::from_secs(3600)).await;
    closes(&anna).await;
    let posted = [("shift_base", 10_000), ("task_penalty", -1_000), ("task_bonus", 2_000), ("task_completed", 0)];
    assert_eq!(workplace.adjustments().await, posted.map(|(kind, amount)| (kind.to_owned(), amount)));
}

async fn a_penalty_stays_negative_everywhere(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (site, app) = (make_site(&cabinet, &owner).await, cabinet.app.clone());
    let path = format!("/sites/{site}/tasks");
    owner.post(&path, &[("text", "Sweep"), ("price", "penalty"), ("amount", "33")]).await.redirects_to(&path);
    let sites = workforce::sites::Sites::of_app(&app);
    let template = sites.tasks(site, false).await.unwrap().remove(0);
    assert_eq!(template.about.amount_kopecks, -3_300);
    // The form shows a penalty without its sign, and can be sent back as shown.
    owner.get(&path).await.is(200, "value=\"33\"").is(200, "penalty 33");
    let again = [("version", "1"), ("text", "Sweep well"), ("price", "penalty"), ("amount", "33.00")];
    owner.post(&format!("{path}/{}", template.id), &again).await.redirects_to(&path);
    assert_eq!(sites.tasks(site, false).await.unwrap()[0].about.amount_kopecks, -3_300);

    let (person, boss) = (cabinet.person(BORIS).await, cabinet.person(ANNA).await);
    let contract = about_contract(&[site], true);
    sites.create_contract(&boss, person.id, contract).await.unwrap();
    let start =
        ShiftStart { user_id: person.id, site_id: site, plan_id: None, position: None, started_at: NOON, at: NOON };
    let shift = app.domain.write_and_get(move |db| Box::pin(workforce::shifts::open(db, start))).await.unwrap();
    assert_eq!(tasks_of(app.domain.read(), shift).await.unwrap()[0].amount_kopecks, -3_300);
    owner.get(&format!("/shifts/{shift}")).await.is(200, "−33\u{a0}₽ if skipped");
    sql(&cabinet, "UPDATE shift_tasks SET done_at = 1".to_owned()).await;
    let open = owner.get(&format!("/shifts/{shift}")).await;
    open.is(200, "penalty of 33\u{a0}₽ avoided");
    assert!(!open.body.contains("−33\u{a0}₽"), "a done task costs nothing: {}", open.body);
    sql(&cabinet, "UPDATE shift_tasks SET done_at = NULL".to_owned()).await;
    let mandatory_task_penalty = Shifts::of_app(&app).mandatory_task_penalty().await.unwrap();
    let (closed_by, position) = (ClosedBy::Person, None);
    let end = ShiftEnd {
        shift_id: shift,
        version: None,
        position,
        closed_by,
        ended_at: NOON,
        mandatory_task_penalty,
        at: NOON,
    };
    app.domain.write(move |db| Box::pin(workforce::shifts::close(db, end))).await.unwrap();
    let lines = app.payroll.of_shift(shift).await.unwrap();
    assert_eq!(lines.last().unwrap().amount.kopecks(), -3_300);
    owner.get(&format!("/shifts/{shift}")).await.is(200, "−33");
    cabinet.close().await;
}
