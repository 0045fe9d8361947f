//! Rights that are lost between what a handler or a page has read and its commit: the commit is refused.

use std::sync::Arc;

use opora::bot::Bot;
use opora::testing::chat::Stage;
use opora::turn::Context;
use workforce::application::{self, App};
use workforce::domain::Domain;
use workforce::people;
use workforce::person::{Role, Status};
use workforce::registration::{NotDecided, Registrations};
use workforce::settings::MANDATORY_TASK_PENALTY;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::ANNA;
use crate::kit::firm::{Firm, Ground, Kind, NOON, on_databases};
use crate::kit::overtaken::Overtaken;
use crate::registration::live::mark;
use crate::registration::registered;
use crate::shifts::{Yard, button_with, chooses, person};

on_databases! { [sqlite Sqlite, redis_and_postgres RedisAndPostgres]
    who_is_blocked_before_the_commit_of_a_turn_writes_nothing,
    who_is_no_owner_at_the_commit_changes_no_settings,
    who_is_no_owner_at_the_commit_decides_on_nobody_on_a_page,
    who_is_no_owner_at_the_commit_decides_on_nobody_in_the_chat,
}

/// A stage whose turns can be overtaken; nobody has spoken on the one before.
fn overtake(firm: &mut Firm) -> Arc<Overtaken> {
    let store = Overtaken::over(firm.app.domain.store());
    let context = Context::new().with(firm.app.clone());
    firm.stage = Stage::on(application::script(&firm.app.rooms), context, store.clone(), firm.app.clock.clone());
    store
}

/// The pages of the same application, whose commits can be overtaken.
async fn pages(app: &App, ground: &Ground, token: &str) -> (App, Arc<Overtaken>) {
    let store = Overtaken::over(app.domain.store());
    let domain = Domain::over(&ground.database, store.clone()).await.unwrap();
    let config = ground.config(&[("BOT_TOKEN", token), ("PUBLIC_URL", &app.public_url)]);
    (App::new(&config, domain, app.rooms.clone(), Bot::new(token).handle(), app.clock.clone()), store)
}

async fn who_is_blocked_before_the_commit_of_a_turn_writes_nothing(kind: Kind) {
    let mut yard = Yard::open(kind).await;
    let store = overtake(&mut yard.firm);
    // The owner's number is taken on the stage before.
    let _ = yard.firm.stage.person("Olga");
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    chooses(&anna, "🗓 Plan a shift").await;
    anna.presses("⚡ Next free places").await;
    anna.presses(&button_with(&anna, " · ")).await;
    let id = person(&yard.firm, &anna).await.id;
    let ground = &yard.firm._ground;
    store.by(ground, move |db| Box::pin(people::set_status(db, id, Status::Blocked, None, NOON))).await;
    anna.presses("Yes, I will come").await;
    assert!(store.has_happened());
    anna.sees_toast("This is for others");
    assert!(yard.rows("SELECT id FROM shift_plans").await.is_empty());
}

async fn who_is_no_owner_at_the_commit_changes_no_settings(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    cabinet.hire(1003, "Vera", Role::Owner).await;
    let (pages, store) = pages(&cabinet.app, &cabinet.ground, &cabinet.emulator.token).await;
    let owner = cabinet.signed_in(ANNA).await.on(application::router(&pages));
    owner.get("/settings").await.is(200, "Default: 50.00 ₽.");
    let name = MANDATORY_TASK_PENALTY.name;
    let (anna, seen) = (cabinet.person(ANNA).await.id, format!("seen-{name}"));
    store.by(&cabinet.ground, move |db| Box::pin(people::take_role(db, anna, Role::Owner, None, NOON))).await;
    let answer = owner.post("/settings", &[(name, "75"), (&seen, "50.00")]).await;
    assert!(store.has_happened());
    answer.is(403, "This page is for others");
    assert_eq!(cabinet.app.settings.get(&MANDATORY_TASK_PENALTY).await.unwrap(), MANDATORY_TASK_PENALTY.default);
    cabinet.close().await;
}

async fn who_is_no_owner_at_the_commit_decides_on_nobody_on_a_page(kind: Kind) {
    let firm = Firm::open(kind).await;
    let (olga, _petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    let anna = registered(&firm, "Anna").await;
    let (olga, anna) = (person(&firm, &olga).await.id, person(&firm, &anna).await.id);
    let (pages, store) = pages(&firm.app, &firm._ground, "7:stage").await;
    let registrations = Registrations::of_app(&pages);
    let documents = registrations.of(anna).await.unwrap();
    for is_approved in [true, false] {
        store.by(&firm._ground, move |db| Box::pin(people::take_role(db, olga, Role::Owner, None, NOON))).await;
        let decided = if is_approved {
            registrations.approve(olga, anna, mark(&documents)).await
        } else {
            registrations.reject(olga, anna, mark(&documents), "The picture is dark.").await
        };
        assert!(store.has_happened());
        assert!(matches!(decided, Err(NotDecided::NotAllowed)), "{decided:?}");
        let waiting = firm.app.people.by_id(anna).await.unwrap().unwrap();
        assert_eq!(waiting.status, Status::Pending);
        firm.app.domain.write(move |db| Box::pin(people::give_role(db, olga, Role::Owner, None, NOON))).await.unwrap();
    }
}

async fn who_is_no_owner_at_the_commit_decides_on_nobody_in_the_chat(kind: Kind) {
    let mut firm = Firm::open(kind).await;
    let store = overtake(&mut firm);
    let (olga, _petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    let anna = registered(&firm, "Anna").await;
    let id = person(&firm, &olga).await.id;
    store.by(&firm._ground, move |db| Box::pin(people::take_role(db, id, Role::Owner, None, NOON))).await;
    olga.presses("✅ Approve").await;
    assert!(store.has_happened());
    assert!(!olga.transcript().contains("Approved: Anna Smith"), "{}", olga.transcript());
    assert!(!anna.transcript().contains("Welcome to the team!"), "{}", anna.transcript());
    assert_eq!(person(&firm, &anna).await.status, Status::Pending);
}
