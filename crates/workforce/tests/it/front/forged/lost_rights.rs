//! Rights that are lost in the middle of a dialogue: what its state knows of is not told any more, and nothing is written.

use workforce::people;
use workforce::person::{Permission, Status};
use workforce::sites::{AboutContract, AboutSite, ContractStatus};

use super::world::{Actor, World};
use crate::shifts::person;

/// Everywhere that the state of a dialogue knows a site, and what its person may try there.
const KNOWN_SITES: [(&[&str], &[&str]); 6] = [
    (&["plan:begin", "plan:site:{home}"], &["plan:days:0", "plan:day:{day}"]),
    (&["plan:begin", "plan:site:{home}", "plan:day:{day}"], &["plan:slots:0", "plan:slot:{slot}"]),
    (&["plan:begin", "plan:free", "plan:slot:{slot}"], &["plan:yes"]),
    (&["open:begin", "open:site:{home}"], &["@"]),
    (&["site:open", "site:is:{den}"], &["@"]),
    (&["site:close"], &["site:more:0", "site:is:{home}"]),
];

#[tokio::test]
async fn who_has_no_contract_any_more_is_told_nothing_of_the_site() {
    let world = World::open().await;
    let (yard, emma) = (&world.yard, Actor::Employee);
    let user_id = person(&yard.firm, world.of(emma)).await.id;
    let sites: Vec<i64> = ["home", "den"].iter().map(|name| world.own[name].parse().unwrap()).collect();
    for (way, inputs) in KNOWN_SITES {
        world.does(emma, "/cancel").await;
        for step in way {
            world.does(emma, step).await;
        }
        assert!(world.state(emma).await.is_some(), "{way:?} leads nowhere");
        let contract = yard.sites.contracts_of(user_id).await.unwrap().pop().unwrap();
        let set = async |status: ContractStatus, version: i64| {
            let about = AboutContract { status, ..contract.about.clone() };
            yard.sites.edit_contract(&yard.owner, contract.id, version, about).await.unwrap();
        };
        set(ContractStatus::Terminated, contract.version).await;
        rename(&world, &sites, "Zvezda by now").await;
        let rows = world.rows().await;
        for input in inputs {
            let told = world.told(emma, input).await;
            assert!(!told.contains("Zvezda"), "{input} tells: {told}");
        }
        assert_eq!(world.rows().await, rows, "{inputs:?} changed something");
        rename(&world, &sites, "Home").await;
        set(ContractStatus::Active, contract.version + 1).await;
    }
}

#[tokio::test]
async fn who_is_not_permitted_any_more_makes_no_slot() {
    let world = World::open().await;
    let (yard, max) = (&world.yard, Actor::Manager);
    let home: i64 = world.own["home"].parse().unwrap();
    world.does(max, "owner:slot:{home}").await;
    assert_eq!(world.state(max).await.as_deref(), Some("owner_sites:new_slot"));
    let user_id = person(&yard.firm, world.of(max)).await.id;
    yard.sites.permit(&yard.owner, user_id, home, vec![]).await.unwrap();
    rename(&world, &[home], "Zvezda by now").await;
    let rows = world.rows().await;
    for input in ["\"31.12 09:00-18:00 2", "shifts:back"] {
        let told = world.told(max, input).await;
        assert!(!told.contains("Zvezda"), "{input} tells: {told}");
    }
    assert_eq!(world.rows().await, rows);
}

#[tokio::test]
async fn who_is_blocked_in_the_middle_sees_no_more_of_their_tasks() {
    let world = World::open().await;
    let eva = Actor::AtWork;
    world.does(eva, "tasks:mine").await;
    let id = person(&world.yard.firm, world.of(eva)).await.id;
    let task = world.yard.rows("SELECT id FROM shift_tasks WHERE text = 'Sweep'").await[0][0].clone();
    world.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, None, crate::kit::firm::NOON))).await;
    let rows = world.rows().await;
    for input in [format!("task:done:{task}"), format!("task:photo:{task}"), "close:begin".into()] {
        let told = world.told(eva, &input).await;
        assert!(!told.contains("Sweep"), "{input} tells: {told}");
    }
    assert_eq!(world.rows().await, rows);
}

#[tokio::test]
async fn an_answer_is_for_who_is_in_charge_still() {
    let world = World::open().await;
    let (yard, max) = (&world.yard, Actor::Manager);
    let (zinaida, mikhail) = (&world.others[0], &world.others[1]);
    let asker = world.foreign["asker"][0].clone();
    mikhail.presses_data(&format!("chat:reply:{asker}")).await;
    mikhail.sees("Zinaida");
    // The conversation goes to another person while Mikhail writes.
    let other = person(&yard.firm, world.of(max)).await.id;
    let sql = format!("UPDATE chats SET in_charge_id = {other}");
    world
        .write(move |db| {
            Box::pin(async move {
                sea_orm::ConnectionTrait::execute_unprepared(db, &sql).await?;
                Ok(())
            })
        })
        .await;
    let (rows, heard) = (world.rows().await, zinaida.transcript());
    mikhail.sends("Under the mat").await;
    mikhail.sees("closed already");
    assert_eq!((world.rows().await, zinaida.transcript()), (rows, heard));
    assert_eq!(mikhail.state().await, None);
    // The other one answers.
    world.does(max, &format!("chat:reply:{asker}")).await;
    world.does(max, "\"On the shelf").await;
    zinaida.sees("On the shelf");
}

/// Permissions that were seen are looked at again within the commit, and so are roles.
#[tokio::test]
async fn a_commit_checks_again_what_was_permitted() {
    let world = World::open().await;
    let (yard, home) = (&world.yard, world.own["home"].parse().unwrap());
    let max = person(&yard.firm, world.of(Actor::Manager)).await;
    let holds = async |rights: workforce::sites::Rights, who: workforce::person::Person| {
        yard.firm.app.domain.write(move |db| Box::pin(async move { rights.hold(db, &who).await })).await
    };
    let rights = yard.sites.permitted(&max, Permission::Schedule, home).await.unwrap();
    holds(rights.clone(), max.clone()).await.unwrap();
    yard.sites.permit(&yard.owner, max.id, home, vec![Permission::View]).await.unwrap();
    holds(rights.clone(), max.clone()).await.unwrap_err();
    yard.sites.permit(&yard.owner, max.id, home, vec![Permission::Schedule]).await.unwrap();
    holds(rights.clone(), max.clone()).await.unwrap();
    let id = max.id;
    world.write(move |db| Box::pin(people::set_status(db, id, Status::Blocked, None, crate::kit::firm::NOON))).await;
    holds(rights, max).await.unwrap_err();
}

async fn rename(world: &World, sites: &[i64], name: &str) {
    for id in sites {
        let site = world.yard.sites.of(*id).await.unwrap().unwrap();
        let about = AboutSite { name: name.into(), ..site.about };
        world.yard.sites.edit(&world.yard.owner, *id, site.version, about).await.unwrap();
    }
}
