//! Rights that are lost in the middle of a dialogue: its next turn reveals nothing more and writes nothing.

use workforce::people;
use workforce::person::{Permission, Status};
use workforce::sites::{AboutContract, AboutSite, ContractStatus};

use super::fixture::{Actor, ForgeryFixture};
use crate::kit::sql::run_sql;
use crate::shifts::person;

/// Every way into a state that knows a site, and what the person may try there.
const KNOWN_SITES: [(&[&str], &[&str]); 6] = [
    (&["plan:begin", "plan:site:{home}"], &["plan:days:0", "plan:day:{day}"]),
    (&["plan:begin", "plan:site:{home}", "plan:day:{day}"], &["plan:slots:0", "plan:slot:{slot}"]),
    (&["plan:begin", "plan:free", "plan:slot:{slot}"], &["plan:yes"]),
    (&["open:begin", "open:site:{home}"], &["@"]),
    (&["site:open", "site:is:{den}"], &["@"]),
    (&["site:close"], &["site:more:0", "site:is:{home}"]),
];

#[tokio::test]
async fn without_a_contract_the_site_is_not_revealed() {
    let fixture = ForgeryFixture::open().await;
    let (workplace, emma) = (&fixture.workplace, Actor::Employee);
    let user_id = person(&workplace.firm, fixture.person(emma)).await.id;
    let sites: Vec<i64> = ["home", "den"].iter().map(|name| fixture.own[name].parse().unwrap()).collect();
    for (way, inputs) in KNOWN_SITES {
        fixture.perform(emma, "/cancel").await;
        for step in way {
            fixture.perform(emma, step).await;
        }
        assert!(fixture.state(emma).await.is_some(), "{way:?} leads nowhere");
        let contract = workplace.sites.contracts_of(user_id).await.unwrap().pop().unwrap();
        let set = async |status: ContractStatus, version: i64| {
            let about = AboutContract { status, ..contract.about.clone() };
            workplace.sites.edit_contract(&workplace.owner, contract.id, version, about).await.unwrap();
        };
        set(ContractStatus::Terminated, contract.version).await;
        rename(&fixture, &sites, "Zvezda by now").await;
        let rows = fixture.rows().await;
        for input in inputs {
            let answer = fixture.answer_to(emma, input).await;
            assert!(!answer.contains("Zvezda"), "{input} tells: {answer}");
        }
        assert_eq!(fixture.rows().await, rows, "{inputs:?} changed something");
        rename(&fixture, &sites, "Home").await;
        set(ContractStatus::Active, contract.version + 1).await;
    }
}

#[tokio::test]
async fn without_permission_no_slot_is_created() {
    let fixture = ForgeryFixture::open().await;
    let (workplace, max) = (&fixture.workplace, Actor::Manager);
    let home: i64 = fixture.own["home"].parse().unwrap();
    fixture.perform(max, "owner:slot:{home}").await;
    assert_eq!(fixture.state(max).await.as_deref(), Some("owner_sites:new_slot"));
    let user_id = person(&workplace.firm, fixture.person(max)).await.id;
    workplace.sites.set_permissions(&workplace.owner, user_id, home, vec![]).await.unwrap();
    rename(&fixture, &[home], "Zvezda by now").await;
    let rows = fixture.rows().await;
    for input in ["\"31.12 09:00-18:00 2", "shifts:back"] {
        let answer = fixture.answer_to(max, input).await;
        assert!(!answer.contains("Zvezda"), "{input} tells: {answer}");
    }
    assert_eq!(fixture.rows().await, rows);
}

#[tokio::test]
async fn a_blocked_person_sees_no_tasks() {
    let fixture = ForgeryFixture::open().await;
    let eva = Actor::AtWork;
    fixture.perform(eva, "tasks:mine").await;
    let id = person(&fixture.workplace.firm, fixture.person(eva)).await.id;
    let task = fixture.workplace.rows("SELECT id FROM shift_tasks WHERE text = 'Sweep'").await[0][0].clone();
    fixture.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, None, crate::kit::firm::NOON))).await;
    let rows = fixture.rows().await;
    for input in [format!("task:done:{task}"), format!("task:photo:{task}"), "close:begin".into()] {
        let answer = fixture.answer_to(eva, &input).await;
        assert!(!answer.contains("Sweep"), "{input} tells: {answer}");
    }
    assert_eq!(fixture.rows().await, rows);
}

#[tokio::test]
async fn only_the_person_in_charge_may_answer() {
    let fixture = ForgeryFixture::open().await;
    let (workplace, max) = (&fixture.workplace, Actor::Manager);
    let (zinaida, mikhail) = (&fixture.others[0], &fixture.others[1]);
    let asker = fixture.foreign["asker"][0].clone();
    mikhail.presses_data(&format!("chat:reply:{asker}")).await;
    mikhail.sees("Zinaida");
    // The conversation is reassigned while Mikhail writes.
    let other = person(&workplace.firm, fixture.person(max)).await.id;
    let sql = format!("UPDATE chats SET in_charge_id = {other}");
    run_sql(&fixture.workplace.firm.app.domain, sql).await;
    let (rows, heard) = (fixture.rows().await, zinaida.transcript());
    mikhail.sends("Under the mat").await;
    mikhail.sees("already ended");
    assert_eq!((fixture.rows().await, zinaida.transcript()), (rows, heard));
    assert_eq!(mikhail.state().await, None);
    // The new person in charge answers.
    fixture.perform(max, &format!("chat:reply:{asker}")).await;
    fixture.perform(max, "\"On the shelf").await;
    zinaida.sees("On the shelf");
}

/// The commit checks permissions and roles again.
#[tokio::test]
async fn the_commit_checks_permissions_again() {
    let fixture = ForgeryFixture::open().await;
    let (workplace, home) = (&fixture.workplace, fixture.own["home"].parse().unwrap());
    let max = person(&workplace.firm, fixture.person(Actor::Manager)).await;
    let holds = async |rights: workforce::sites::Rights, who: workforce::person::Person| {
        workplace.firm.app.domain.write(move |db| Box::pin(async move { rights.check(db, &who).await })).await
    };
    let rights = workplace.sites.require_permission(&max, Permission::Schedule, home).await.unwrap();
    holds(rights.clone(), max.clone()).await.unwrap();
    workplace.sites.set_permissions(&workplace.owner, max.id, home, vec![Permission::View]).await.unwrap();
    holds(rights.clone(), max.clone()).await.unwrap_err();
    workplace.sites.set_permissions(&workplace.owner, max.id, home, vec![Permission::Schedule]).await.unwrap();
    holds(rights.clone(), max.clone()).await.unwrap();
    let id = max.id;
    fixture.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, None, crate::kit::firm::NOON))).await;
    holds(rights, max).await.unwrap_err();
}

async fn rename(fixture: &ForgeryFixture, sites: &[i64], name: &str) {
    for id in sites {
        let site = fixture.workplace.sites.site(*id).await.unwrap().unwrap();
        let about = AboutSite { name: name.into(), ..site.about };
        fixture.workplace.sites.edit(&fixture.workplace.owner, *id, site.version, about).await.unwrap();
    }
}
