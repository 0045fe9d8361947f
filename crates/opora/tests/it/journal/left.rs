//! What is left of a replay that was cut off, or that did not fit: nothing happens twice, and nothing vanishes.

use std::sync::Arc;

use opora::outbox::SendEvent;
use opora::store::{
    Commit, ConversationRow, Effect, EffectId, EffectRow, Epoch, IfUnsure, LeaseAnswer, OutboxId, Outgoing, Receipt,
    Store, StoreError, Stored, Taken, TimerChange, Version,
};
use parking_lot::Mutex;

use super::steps::{NOW, anna, asked, begins_anew, lead, parked, update};
use super::{Scene, on_every_journal};
use crate::lease_holder::holder;
use crate::postgres_store::message;
use crate::runtime::form::form;
use crate::stage::{BOT, Running, until, until_some};

/// Epochs of a journal are beyond this.
const FIRST_OF_JOURNALS: i64 = 1 << 22;

on_every_journal! {
    what_a_turn_wants_is_replayed_also_if_an_input_was_parked_after_it,
    what_turns_in_conflict_have_asked_for_is_done_and_its_outcome_comes_late,
    an_operators_change_is_refused_until_the_journal_is_replayed,
    an_update_that_redis_took_before_it_went_away_is_known_also_after_a_restart_without_it,
    a_redis_that_goes_away_again_after_a_turn_was_replayed_gets_its_wishes_once,
    a_redis_that_goes_away_again_after_all_turns_were_replayed_gets_their_wishes_once,
    a_message_in_the_act_is_not_sent_again_after_a_replay_that_was_cut_off,
    a_replay_renews_the_lease_as_it_goes_on,
}

/// A wish as a turn makes it.
fn wish(key: &str) -> Effect {
    let body = format!(r#"{{"by":{{"dialogue":"purchase","entry":1}},"key":"{key}","body":5}}"#);
    Effect { kind: "charge".into(), body: body.into() }
}

fn timer() -> TimerChange {
    TimerChange::Set { name: "remind".into(), due_at: NOW, body: "1".into() }
}

async fn effects(store: &dyn Store) -> Vec<EffectRow> {
    store.effects(BOT, EffectId::default(), 9).await.unwrap()
}

/// Whoever has her elsewhere in Redis.
fn elsewhere() -> ConversationRow {
    let stored = Stored { value: "{}".into(), places: Vec::new(), expires_at: None };
    ConversationRow { key: anna(), version: Version(1), stored: Some(stored), updated_at: NOW }
}

/// Leads on the journal as soon as it is noticed that Redis is away.
async fn leads_away(store: &dyn Store) -> Epoch {
    until_some("the journal goes on", async || {
        let seen = store.lease(BOT).await.ok()?;
        match store.claim(BOT, &holder("again"), seen.as_ref()).await {
            Ok(LeaseAnswer::Granted(epoch)) if epoch.0 >= FIRST_OF_JOURNALS => Some(epoch),
            _ => None,
        }
    })
    .await
}

/// Redis goes away again in the midst of a replay, once it has heard something; so many timers are the journal's then.
async fn goes_away_again_after(scene: Scene, said: &[u8], timers_left: usize) {
    let (store, epoch) = scene.led_away().await;
    let first =
        Commit { effects: vec![wish("first")], timers: vec![timer()], outgoing: vec![message(5, "said")], ..asked() };
    store.commit(epoch, first).await.unwrap();
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    scene.proxy.cut_after(said);
    let seen = store.lease(BOT).await.unwrap();
    let cut = store.claim(BOT, &holder("after"), seen.as_ref()).await;
    assert!(cut.is_err() && scene.proxy.has_cut(), "{cut:?}");
    scene.proxy.cut_off(true);
    let epoch = leads_away(&*store).await;
    assert_eq!(effects(&*store).await, [], "it is in Redis, and is done from there");
    assert_eq!(store.due_timers(BOT, NOW, 9).await.unwrap().len(), timers_left);
    let takes = vec![Taken::Fresh(update(2).1)];
    let second = Commit { effects: vec![wish("second")], takes, ..Commit::new(anna(), Version(1), NOW) };
    store.commit(epoch, second).await.unwrap();
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    lead(&*store, "at last").await;
    let wishes: Vec<_> = effects(&scene.redis).await.into_iter().map(|row| row.effect).collect();
    assert_eq!(wishes, [wish("first"), wish("second")]);
    assert_eq!(scene.redis.due_timers(BOT, NOW, 9).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

async fn a_redis_that_goes_away_again_after_a_turn_was_replayed_gets_its_wishes_once(scene: Scene) {
    // Nobody knows whether it has the turn: the journal still has its timer, and says with the next turn how it stands.
    goes_away_again_after(scene, b"charge", 1).await;
}

async fn a_redis_that_goes_away_again_after_all_turns_were_replayed_gets_their_wishes_once(scene: Scene) {
    goes_away_again_after(scene, b"_post", 0).await;
}

async fn a_message_in_the_act_is_not_sent_again_after_a_replay_that_was_cut_off(scene: Scene) {
    let (store, epoch) = scene.led_away().await;
    let once = Outgoing { if_unsure: IfUnsure::Drop, ..message(5, "only once") };
    let turn = Commit { outgoing: vec![once, message(5, "and more")], ..asked() };
    let said = store.commit(epoch, turn).await.unwrap().outbox;
    store.sending(epoch, said).await.unwrap();
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    // Redis has heard of it, and that is all.
    scene.proxy.cut_after(b"only once");
    let seen = store.lease(BOT).await.unwrap();
    let cut = store.claim(BOT, &holder("after"), seen.as_ref()).await;
    assert!(cut.is_err() && scene.proxy.has_cut(), "{cut:?}");
    let epoch = until_some("it is replayed", async || match store.claim(BOT, &holder("again"), None).await {
        Ok(LeaseAnswer::Granted(epoch)) if epoch.0 < FIRST_OF_JOURNALS => Some(epoch),
        _ => None,
    })
    .await;
    let unsent = scene.redis.unsent(BOT, OutboxId::default(), 9).await.unwrap();
    let sent_again: Vec<_> = unsent.iter().filter(|row| !row.was_sending).map(|row| &*row.outgoing.body).collect();
    assert!(matches!(sent_again[..], [more] if more.contains("and more")), "{unsent:?}");
    assert_eq!(unsent.len(), 2, "{unsent:?}");
    store.release(BOT, epoch).await.unwrap();
    // The courier gives it up, and the application hears of that.
    let (told, tells) = (Arc::new(Mutex::new(Vec::new())), scene.stage.bot(&store).dialogue(form()));
    let hears = Arc::clone(&told);
    let bot = Running::start(tells.on_event(move |event| hears.lock().push(event)));
    let is_given_up =
        |event: &SendEvent| matches!(event, SendEvent::Failed { reason, .. } if reason.contains("may have been sent"));
    until("the application is told", async || told.lock().iter().any(is_given_up)).await;
    until("the rest is sent", async || {
        scene.redis.statistics(Some(BOT)).await.is_ok_and(|numbers| numbers.outbox == 0)
    })
    .await;
    let sent = format!("{:?}", scene.stage.calls("sendMessage").await);
    assert!(sent.contains("and more") && !sent.contains("only once"), "{sent}");
    bot.stops().await;
    store.close().await.unwrap();
}

async fn what_a_turn_wants_is_replayed_also_if_an_input_was_parked_after_it(scene: Scene) {
    let (store, epoch) = scene.led_away().await;
    let turn = Commit { effects: vec![wish("first")], timers: vec![timer()], ..asked() };
    store.commit(epoch, turn).await.unwrap();
    store.park(epoch, vec![Taken::Fresh(update(2).1)], parked(), Vec::new()).await.unwrap();
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(effects(&scene.redis).await.len(), 1);
    assert_eq!(scene.redis.due_timers(BOT, NOW, 9).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

async fn what_turns_in_conflict_have_asked_for_is_done_and_its_outcome_comes_late(scene: Scene) {
    let (store, epoch) = scene.led_away().await;
    store.commit(epoch, Commit { effects: vec![wish("first")], ..asked() }).await.unwrap();
    assert!(scene.redis.operator().import(&elsewhere(), true).await.unwrap());
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    lead(&*store, "after").await;
    let kinds: Vec<_> = scene.redis.parked(Some(BOT), 9).await.unwrap().into_iter().map(|row| row.kind).collect();
    assert_eq!(kinds, ["state", "again"]);
    let wanted = effects(&scene.redis).await;
    let [EffectRow { effect: Effect { kind, body }, .. }] = &wanted[..] else { panic!("{wanted:?}") };
    // No state was entered by that turn: whoever asked hears of it as of something late.
    let late = r#"{"by":{"dialogue":"purchase","entry":-1},"key":"first","body":5}"#;
    assert_eq!((&**kind, &**body), ("charge", late));
    store.close().await.unwrap();
}

async fn an_operators_change_is_refused_until_the_journal_is_replayed(scene: Scene) {
    let (store, epoch) = scene.led_away().await;
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
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    is_refused().await;
    lead(&*store, "after").await;
    assert_eq!(scene.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    assert!(store.operator().import(&elsewhere(), true).await.unwrap());
    assert!(store.operator().reset(&anna(), NOW).await.unwrap());
    assert!(store.operator().import(&elsewhere(), true).await.unwrap());
    assert!(store.forget(BOT, anna().user, NOW).await.unwrap() > 0);
    assert_eq!(scene.redis.statistics(Some(BOT)).await.unwrap().active, 0);
    store.close().await.unwrap();
}

async fn an_update_that_redis_took_before_it_went_away_is_known_also_after_a_restart_without_it(scene: Scene) {
    let store = scene.store().await;
    let epoch = lead(&*store, "before").await;
    store.open(&anna(), None).await.unwrap();
    store.commit(epoch, asked()).await.unwrap();
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    lead(&*store, "away").await;
    store.close().await.unwrap();
    let store = scene.store().await;
    let epoch = lead(&*store, "restarted").await;
    let receipts = store.receive(epoch, vec![update(1).0, update(2).0]).await.unwrap();
    assert!(matches!(receipts[..], [Receipt::Known, Receipt::New(_)]), "{receipts:?}");
    store.close().await.unwrap();
}

async fn a_replay_renews_the_lease_as_it_goes_on(scene: Scene) {
    let (store, epoch) = scene.led_away().await;
    let turn = Commit { outgoing: vec![message(5, "said")], ..asked() };
    store.commit(epoch, turn).await.unwrap();
    store.receive(epoch, vec![update(2).0]).await.unwrap();
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    lead(&*store, "after").await;
    // With each page: of turns, of messages, of updates.
    let lease = scene.redis.lease(BOT).await.unwrap().unwrap();
    assert!(lease.renewals >= 3, "{lease:?}");
    store.close().await.unwrap();
}
