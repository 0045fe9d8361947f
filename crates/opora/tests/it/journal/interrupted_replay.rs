//! A replay that was interrupted, or that conflicts: nothing is repeated, and nothing is lost.

use std::sync::Arc;

use opora::outbox::SendEvent;
use opora::store::{
    Commit, ConversationRow, Effect, EffectId, EffectRow, Epoch, IfUnsure, InputRef, LeaseAnswer, OutboxId,
    OutgoingExtras, Receipt, Store, StoreError, StoredState, TimerChange, Version,
};
use opora::testing::holder;
use parking_lot::Mutex;

use super::atomicity::{NOW, anna, asked, lead, parked, update, wait_for_new_claim};
use super::{Fixture, on_every_journal};
use crate::postgres_store::message;
use crate::runtime::form::form;
use crate::stage::{BOT, Running, until, until_some};

/// Epochs of a journal start above this.
const JOURNAL_EPOCHS: i64 = 1 << 22;

on_every_journal! {
    turn_output_is_replayed_despite_a_later_parked_input,
    effects_of_conflicting_turns_run_with_a_late_outcome,
    operator_changes_are_refused_until_the_replay,
    marks_of_redis_are_known_after_a_restart_without_it,
    redis_lost_after_one_replayed_turn_gets_effects_once,
    redis_lost_after_all_replayed_turns_gets_effects_once,
    an_unsure_message_is_not_sent_after_a_broken_replay,
    a_replay_renews_the_lease,
}

/// An effect as a turn requests it.
fn effect(key: &str) -> Effect {
    let body = format!(r#"{{"by":{{"dialogue":"purchase","entry":1}},"key":"{key}","body":5}}"#);
    Effect { kind: "charge".into(), body: body.into() }
}

fn timer() -> TimerChange {
    TimerChange::Set { name: "remind".into(), due_at: NOW, body: "1".into() }
}

async fn effects(store: &dyn Store) -> Vec<EffectRow> {
    store.effects(BOT, EffectId::default(), 9).await.unwrap()
}

/// Another state of her conversation, as changed in Redis.
fn elsewhere() -> ConversationRow {
    let stored = StoredState { value: "{}".into(), states: Vec::new(), expires_at: None };
    ConversationRow { key: anna(), version: Version(1), stored: Some(stored), updated_at: NOW }
}

/// Claims the lease on the journal as soon as Redis counts as away.
async fn lead_on_journal(store: &dyn Store) -> Epoch {
    until_some("the journal goes on", async || {
        let seen = store.lease(BOT).await.ok()?;
        match store.claim(BOT, &holder("again"), seen.as_ref()).await {
            Ok(LeaseAnswer::Granted(epoch)) if epoch.0 >= JOURNAL_EPOCHS => Some(epoch),
            _ => None,
        }
    })
    .await
}

/// Redis goes away during a replay, after a request with these bytes. Then the journal has so many timers left.
async fn interrupt_replay_after(fixture: Fixture, said: &[u8], timers_left: usize) {
    let (store, epoch) = fixture.lead_without_redis().await;
    let first =
        Commit { effects: vec![effect("first")], timers: vec![timer()], outgoing: vec![message(5, "said")], ..asked() };
    store.commit(epoch, first).await.unwrap();
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    fixture.proxy.drop_reply_to(said);
    let seen = store.lease(BOT).await.unwrap();
    let cut = store.claim(BOT, &holder("after"), seen.as_ref()).await;
    assert!(cut.is_err() && fixture.proxy.has_dropped_reply(), "{cut:?}");
    fixture.proxy.cut_off(true);
    let epoch = lead_on_journal(&*store).await;
    assert_eq!(effects(&*store).await, [], "it is in Redis, and is done from there");
    assert_eq!(store.due_timers(BOT, NOW, 9).await.unwrap().len(), timers_left);
    let processed = vec![InputRef::DirectUpdate(update(2).1)];
    let second = Commit { effects: vec![effect("second")], processed, ..Commit::new(anna(), Version(1), NOW) };
    store.commit(epoch, second).await.unwrap();
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    lead(&*store, "at last").await;
    let requested: Vec<_> = effects(&fixture.redis).await.into_iter().map(|row| row.effect).collect();
    assert_eq!(requested, [effect("first"), effect("second")]);
    assert_eq!(fixture.redis.due_timers(BOT, NOW, 9).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

async fn redis_lost_after_one_replayed_turn_gets_effects_once(fixture: Fixture) {
    // It is unknown whether Redis has the turn: the journal still has its timer, and replays the timer's end state.
    interrupt_replay_after(fixture, b"charge", 1).await;
}

async fn redis_lost_after_all_replayed_turns_gets_effects_once(fixture: Fixture) {
    interrupt_replay_after(fixture, b"_post", 0).await;
}

async fn an_unsure_message_is_not_sent_after_a_broken_replay(fixture: Fixture) {
    let (store, epoch) = fixture.lead_without_redis().await;
    let once = message(5, "only once").with(OutgoingExtras { if_unsure: IfUnsure::Drop, ..OutgoingExtras::default() });
    let turn = Commit { outgoing: vec![once, message(5, "and more")], ..asked() };
    let said = store.commit(epoch, turn).await.unwrap().outbox;
    store.sending(epoch, said).await.unwrap();
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    // Redis knows of the message, and nothing more.
    fixture.proxy.drop_reply_to(b"only once");
    let seen = store.lease(BOT).await.unwrap();
    let cut = store.claim(BOT, &holder("after"), seen.as_ref()).await;
    assert!(cut.is_err() && fixture.proxy.has_dropped_reply(), "{cut:?}");
    let epoch = until_some("it is replayed", async || match store.claim(BOT, &holder("again"), None).await {
        Ok(LeaseAnswer::Granted(epoch)) if epoch.0 < JOURNAL_EPOCHS => Some(epoch),
        _ => None,
    })
    .await;
    let unsent = fixture.redis.unsent(BOT, OutboxId::default(), 9).await.unwrap();
    let sent_again: Vec<_> = unsent.iter().filter(|row| !row.was_sending).map(|row| &*row.outgoing.body).collect();
    assert!(matches!(sent_again[..], [more] if more.contains("and more")), "{unsent:?}");
    assert_eq!(unsent.len(), 2, "{unsent:?}");
    store.release(BOT, epoch).await.unwrap();
    // The courier gives it up, and the application gets an event.
    let (events, bot_settings) = (Arc::new(Mutex::new(Vec::new())), fixture.stage.bot(&store).dialogue(form()));
    let listener = Arc::clone(&events);
    let bot = Running::start(bot_settings.on_event(move |event| listener.lock().push(event)));
    let is_given_up =
        |event: &SendEvent| matches!(event, SendEvent::Failed { reason, .. } if reason.contains("may have sent it"));
    until("the application gets the event", async || events.lock().iter().any(is_given_up)).await;
    until("the rest is sent", async || {
        fixture.redis.statistics(Some(BOT)).await.is_ok_and(|numbers| numbers.outbox == 0)
    })
    .await;
    let sent = format!("{:?}", fixture.stage.calls("sendMessage").await);
    assert!(sent.contains("and more") && !sent.contains("only once"), "{sent}");
    bot.stops().await;
    store.close().await.unwrap();
}

async fn turn_output_is_replayed_despite_a_later_parked_input(fixture: Fixture) {
    let (store, epoch) = fixture.lead_without_redis().await;
    let turn = Commit { effects: vec![effect("first")], timers: vec![timer()], ..asked() };
    store.commit(epoch, turn).await.unwrap();
    store.park(epoch, vec![InputRef::DirectUpdate(update(2).1)], parked(), Vec::new()).await.unwrap();
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(effects(&fixture.redis).await.len(), 1);
    assert_eq!(fixture.redis.due_timers(BOT, NOW, 9).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

async fn effects_of_conflicting_turns_run_with_a_late_outcome(fixture: Fixture) {
    let (store, epoch) = fixture.lead_without_redis().await;
    store.commit(epoch, Commit { effects: vec![effect("first")], ..asked() }).await.unwrap();
    assert!(fixture.redis.operator().import(&elsewhere(), true).await.unwrap());
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    lead(&*store, "after").await;
    let kinds: Vec<_> = fixture.redis.parked(Some(BOT), 9).await.unwrap().into_iter().map(|row| row.kind).collect();
    assert_eq!(kinds, ["state", "again"]);
    let wanted = effects(&fixture.redis).await;
    let [EffectRow { effect: Effect { kind, body }, .. }] = &wanted[..] else { panic!("{wanted:?}") };
    // That turn entered no state: the requester gets a late outcome.
    let late = r#"{"by":{"dialogue":"purchase","entry":-1},"key":"first","body":5}"#;
    assert_eq!((&**kind, &**body), ("charge", late));
    store.close().await.unwrap();
}

async fn operator_changes_are_refused_until_the_replay(fixture: Fixture) {
    let (store, epoch) = fixture.lead_without_redis().await;
    store.commit(epoch, asked()).await.unwrap();
    let is_refused = async || {
        let (reset, import) =
            (store.operator().reset(&anna(), NOW).await, store.operator().import(&elsewhere(), true).await);
        assert!(matches!(reset, Err(StoreError::Unavailable(_))), "{reset:?}");
        assert!(matches!(import, Err(StoreError::Unavailable(_))), "{import:?}");
        let forget = store.forget(BOT, anna().user, NOW).await;
        assert!(matches!(forget, Err(StoreError::Unavailable(_))), "{forget:?}");
    };
    is_refused().await;
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    is_refused().await;
    lead(&*store, "after").await;
    assert_eq!(fixture.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    assert!(store.operator().import(&elsewhere(), true).await.unwrap());
    assert!(store.operator().reset(&anna(), NOW).await.unwrap());
    assert!(store.operator().import(&elsewhere(), true).await.unwrap());
    assert!(store.forget(BOT, anna().user, NOW).await.unwrap() > 0);
    assert_eq!(fixture.redis.statistics(Some(BOT)).await.unwrap().active, 0);
    store.close().await.unwrap();
}

async fn marks_of_redis_are_known_after_a_restart_without_it(fixture: Fixture) {
    let store = fixture.store().await;
    let epoch = lead(&*store, "before").await;
    store.open(&anna(), None).await.unwrap();
    store.commit(epoch, asked()).await.unwrap();
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    lead(&*store, "away").await;
    store.close().await.unwrap();
    let store = fixture.store().await;
    let epoch = lead(&*store, "restarted").await;
    let receipts = store.receive(epoch, vec![update(1).0, update(2).0]).await.unwrap();
    assert!(matches!(receipts[..], [Receipt::Known, Receipt::New(_)]), "{receipts:?}");
    store.close().await.unwrap();
}

async fn a_replay_renews_the_lease(fixture: Fixture) {
    let (store, epoch) = fixture.lead_without_redis().await;
    let turn = Commit { outgoing: vec![message(5, "said")], ..asked() };
    store.commit(epoch, turn).await.unwrap();
    store.receive(epoch, vec![update(2).0]).await.unwrap();
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    lead(&*store, "after").await;
    // With each page: of turns, of messages, of updates.
    let lease = fixture.redis.lease(BOT).await.unwrap().unwrap();
    assert!(lease.renewals >= 3, "{lease:?}");
    store.close().await.unwrap();
}
