//! Rights that are lost between a read and the commit: the commit is refused.

use std::sync::Arc;

use opora::bot::Bot;
use opora::testing::chat::Stage;
use opora::turn::Context;
use workforce::application::{self, App};
use workforce::domain::Domain;
use workforce::people;
use workforce::person::{Role, Status};
use workforce::registration::{DecisionError, Registrations};
use workforce::settings::MANDATORY_TASK_PENALTY;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::ANNA;
use crate::kit::firm::{Firm, NOON, StorageKind, TestStorage, on_databases};
use crate::kit::interleaving_store::InterleavingStore;
use crate::registration::in_process::pending_document_id;
use crate::registration::registered_person;
use crate::shifts::{Workplace, button_with, chooses_from_menu, person};

on_databases! { [sqlite Sqlite, redis_and_postgres RedisAndPostgres]
    a_block_before_the_commit_refuses_a_turn,
    a_lost_role_refuses_a_settings_change,
    a_lost_role_refuses_a_decision_on_a_page,
    a_lost_role_refuses_a_decision_in_the_chat,
}

/// Replaces the stage by one with an interleaving store. The old stage must be unused.
fn use_interleaving_store(firm: &mut Firm) -> Arc<InterleavingStore> {
    let store = InterleavingStore::new(firm.app.domain.store());
    let context = Context::new().with(firm.app.clone());
    firm.stage = Stage::on(application::script(&firm.app.rooms), context, store.clone(), firm.app.clock.clone());
    store
}

/// The pages of the same application, with an interleaving store.
pub async fn pages(app: &App, storage: &TestStorage, token: &str) -> (App, Arc<InterleavingStore>) {
    let store = InterleavingStore::new(app.domain.store());
    let domain = Domain::with_store(&storage.database, store.clone()).await.unwrap();
    let config = storage.config(&[("BOT_TOKEN", token), ("PUBLIC_URL", &app.public_url)]);
    (App::new(&config, domain, app.rooms.clone(), Bot::new(token).handle(), app.clock.clone()), store)
}

async fn a_block_before_the_commit_refuses_a_turn(kind: StorageKind) {
    let mut workplace = Workplace::open(kind).await;
    let store = use_interleaving_store(&mut workplace.firm);
    // Takes the person number that the owner has on the old stage.
    let _ = workplace.firm.stage.person("Olga");
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    chooses_from_menu(&anna, "🗓 Pick up a shift").await;
    anna.presses("⚡ Next open shifts").await;
    anna.presses(&button_with(&anna, " · ")).await;
    let id = person(&workplace.firm, &anna).await.id;
    let storage = &workplace.firm.storage;
    store
        .commit_before_next(storage, move |db| Box::pin(people::set_status(db, id, Status::Blocked, None, NOON)))
        .await;
    anna.presses("Yes, I'll be there").await;
    assert!(store.has_committed());
    anna.sees_toast("You don't have permission");
    assert!(workplace.rows("SELECT id FROM shift_plans").await.is_empty());
}

async fn a_lost_role_refuses_a_settings_change(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    cabinet.hire(1003, "Vera", Role::Owner).await;
    let (pages, store) = pages(&cabinet.app, &cabinet.storage, &cabinet.emulator.token).await;
    let owner = cabinet.signed_in(ANNA).await.with_router(application::router(&pages));
    owner.get("/settings").await.is(200, "Default: 50\u{a0}₽.");
    let name = MANDATORY_TASK_PENALTY.name;
    let (anna, seen) = (cabinet.person(ANNA).await.id, format!("seen-{name}"));
    store
        .commit_before_next(&cabinet.storage, move |db| Box::pin(people::take_role(db, anna, Role::Owner, None, NOON)))
        .await;
    let answer = owner.post("/settings", &[(name, "75"), (&seen, "50.00")]).await;
    assert!(store.has_committed());
    answer.is(403, "You don't have access to this page");
    assert_eq!(cabinet.app.settings.get(&MANDATORY_TASK_PENALTY).await.unwrap(), MANDATORY_TASK_PENALTY.default);
    cabinet.close().await;
}

async fn a_lost_role_refuses_a_decision_on_a_page(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let (olga, _petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    let anna = registered_person(&firm, "Anna").await;
    let (olga, anna) = (person(&firm, &olga).await.id, person(&firm, &anna).await.id);
    let (pages, store) = pages(&firm.app, &firm.storage, "7:stage").await;
    let registrations = Registrations::of_app(&pages);
    let documents = registrations.documents_of(anna).await.unwrap();
    for is_approved in [true, false] {
        store
            .commit_before_next(&firm.storage, move |db| Box::pin(people::take_role(db, olga, Role::Owner, None, NOON)))
            .await;
        let decided = if is_approved {
            registrations.approve(olga, anna, pending_document_id(&documents)).await
        } else {
            registrations.reject(olga, anna, pending_document_id(&documents), "The picture is dark.").await
        };
        assert!(store.has_committed());
        assert!(matches!(decided, Err(DecisionError::NotAllowed)), "{decided:?}");
        let waiting = firm.app.people.by_id(anna).await.unwrap().unwrap();
        assert_eq!(waiting.status, Status::Pending);
        firm.app.domain.write(move |db| Box::pin(people::give_role(db, olga, Role::Owner, None, NOON))).await.unwrap();
    }
}

async fn a_lost_role_refuses_a_decision_in_the_chat(kind: StorageKind) {
    let mut firm = Firm::open(kind).await;
    let store = use_interleaving_store(&mut firm);
    let (olga, _petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    let anna = registered_person(&firm, "Anna").await;
    let id = person(&firm, &olga).await.id;
    store
        .commit_before_next(&firm.storage, move |db| Box::pin(people::take_role(db, id, Role::Owner, None, NOON)))
        .await;
    olga.presses("✅ Approve").await;
    assert!(store.has_committed());
    assert!(!olga.transcript().contains("Approved: Anna Smith"), "{}", olga.transcript());
    assert!(!anna.transcript().contains("Welcome to the team!"), "{}", anna.transcript());
    assert_eq!(person(&firm, &anna).await.status, Status::Pending);
}
