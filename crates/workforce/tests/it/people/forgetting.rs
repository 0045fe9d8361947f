//! A process that is killed after the commit in which a person was forgotten: the next one removes what the bot keeps.

use opora::store::Filter;
use workforce::domain::Domain;
use workforce::people::to_forget;

use crate::kit::demo::{ANNA, until};
use crate::kit::firm::{Ground, Kind, embedded_and_on_servers};
use crate::kit::product::{Run, silent_emulator};
use crate::kit::remains;
use crate::onboarding::process::{hire, presses};
use crate::operator;

embedded_and_on_servers! {
    a_kill_before_the_store_forgets_is_made_good_by_the_next_start,
    a_kill_after_the_store_forgot_is_made_good_by_the_next_start,
}

async fn a_kill_before_the_store_forgets_is_made_good_by_the_next_start(kind: Kind) {
    dies_at(kind, "forgetting.before_store", true).await;
}

async fn a_kill_after_the_store_forgot_is_made_good_by_the_next_start(kind: Kind) {
    dies_at(kind, "forgetting.after_store", false).await;
}

/// Anna is in the middle of the questionnaire when she is forgotten.
async fn dies_at(kind: Kind, place: &str, is_still_kept: bool) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    hire(&ground).await;
    let run = Run::start(&ground, &emulator, &[("OPORA_FAILPOINTS", &format!("{place}=pause"))]);
    emulator.says(ANNA, "/start").await;
    presses(&emulator, ANNA, "📝 Questionnaire").await;
    presses(&emulator, ANNA, "I agree").await;
    emulator.hears(ANNA, "1/8").await;
    emulator.says(ANNA, "Annie the painter").await;
    emulator.hears(ANNA, "2/8").await;
    let (database, folder) = (ground.database.url(), ground.folder.path().to_str().unwrap());
    let forget = ["people", "forget", "1001", "--yes"];
    operator::run(&[("DATABASE_URL", &database), ("DATA_DIR", folder)], &forget).await.well();
    run.logs(&format!("failpoint {place}")).await;
    run.dies().await;
    let domain = Domain::beside(&ground.database).await.unwrap();
    assert_eq!(to_forget::waiting(&domain).await.unwrap(), [ANNA], "the note is there");
    assert_eq!(keeps_a_conversation(&ground).await, is_still_kept);

    let run = Run::start(&ground, &emulator, &[]);
    let is_done = async || to_forget::waiting(&domain).await.unwrap().is_empty().then_some(());
    until("the note is gone", is_done).await;
    run.stops().await;
    domain.close().await.unwrap();
    assert!(!keeps_a_conversation(&ground).await);
    assert!(!remains::everything(&ground).await.contains("Annie the painter"));
    emulator.stop().await;
}

/// The store has a conversation of Anna's.
async fn keeps_a_conversation(ground: &Ground) -> bool {
    let store = opora::store::open_existing(&ground.state).await.unwrap();
    let rows = store.list(&Filter { user: Some(ANNA), ..Filter::default() }, None, 10).await.unwrap();
    store.close().await.unwrap();
    !rows.is_empty()
}
