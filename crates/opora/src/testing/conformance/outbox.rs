//! The outbox keeps messages in order and loses none.

use super::fixture::{ALL, BOT, Fixture, at, message, person};
use crate::store::{
    Commit, FailedRow, IfUnsure, OutboxId, OutboxRow, Outgoing, OutgoingExtras, Settled, Settlement, Upload,
};

fn texts(rows: &[OutboxRow]) -> Vec<String> {
    let text = |row: &OutboxRow| {
        let body: serde_json::Value = serde_json::from_str(&row.outgoing.body).expect("a body is JSON");
        body["text"].as_str().expect("a message has a text").to_owned()
    };
    rows.iter().map(text).collect()
}

async fn say(fixture: &Fixture, user: i64, texts: &[&str]) -> Vec<OutboxId> {
    let outgoing = texts.iter().map(|text| message(user, text)).collect();
    fixture.turn(&person(user), |commit| commit.outgoing = outgoing).await.outbox
}

async fn settle(fixture: &Fixture, id: OutboxId, outcome: Settlement) {
    fixture.store().settle(fixture.epoch, vec![Settled { id, outcome }], at(2)).await.expect("settled");
}

/// Within a turn, from turn to turn, and over takeovers.
pub async fn messages_keep_their_order(mut fixture: Fixture) {
    let mut ids = say(&fixture, 101, &["1", "2", "3"]).await;
    ids.extend(say(&fixture, 102, &["4"]).await);
    fixture.restart().await;
    ids.extend(say(&fixture, 101, &["5", "6"]).await);
    let rows = fixture.unsent().await;
    assert_eq!(texts(&rows), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    assert!(ids.is_sorted_by(|earlier, later| earlier < later), "{ids:?}");
}

/// A starting bot reads a long outbox in pages and misses nothing.
pub async fn the_outbox_is_read_in_pages(fixture: Fixture) {
    let ids = say(&fixture, 101, &["1", "2", "3", "4", "5"]).await;
    let page = fixture.store().unsent(BOT, ids[1], 2).await.expect("answered");
    assert_eq!(texts(&page), ["3", "4"]);
    let rest = fixture.store().unsent(BOT, ids[3], 2).await.expect("answered");
    assert_eq!(texts(&rest), ["5"]);
    assert_eq!(fixture.store().unsent(BOT, ids[4], 2).await.expect("answered"), []);
}

/// All fields of a call are stored.
pub async fn a_call_is_stored_unchanged(fixture: Fixture) {
    let document = Outgoing {
        chat: None,
        method: "sendDocument".into(),
        body: r#"{"document":"attach://plan"}"#.into(),
        extras: OutgoingExtras {
            uploads: vec![Upload {
                name: "plan".into(), file_name: "план.pdf".into(), path: "/data/plan.pdf".into()
            }],
            if_unsure: IfUnsure::Drop,
            label: Some("plan".into()),
            edits_label: Some("menu".into()),
            secret: true,
            low_priority: true,
        },
    };
    fixture.turn(&person(101), |commit| commit.outgoing = vec![document.clone(), message(101, "then")]).await;
    let rows = fixture.unsent().await;
    assert_eq!(rows[0].outgoing, document);
    assert_eq!(rows[1].outgoing, message(101, "then"));
}

/// A sent message leaves the outbox; settling it twice changes nothing.
pub async fn a_sent_message_leaves_the_outbox(mut fixture: Fixture) {
    let ids = say(&fixture, 101, &["1", "2"]).await;
    settle(&fixture, ids[0], Settlement::Sent { labelled: None }).await;
    settle(&fixture, ids[0], Settlement::Sent { labelled: None }).await;
    fixture.restart().await;
    assert_eq!(texts(&fixture.unsent().await), ["2"]);
    assert_eq!(fixture.statistics().await.failed, 0);
}

/// A failed message blocks no other, and is kept.
pub async fn a_failed_message_is_kept_as_failed(mut fixture: Fixture) {
    let ids = say(&fixture, 101, &["1", "2"]).await;
    settle(&fixture, ids[0], Settlement::Failed("403: the bot was blocked".into())).await;
    fixture.restart().await;
    assert_eq!(texts(&fixture.unsent().await), ["2"]);
    let statistics = fixture.statistics().await;
    assert_eq!((statistics.outbox, statistics.failed), (1, 1));
}

/// Failed messages are listed whole, with the reason, in the order of their commits, in pages.
pub async fn failed_messages_are_shown_in_pages(mut fixture: Fixture) {
    let mut ids = Vec::new();
    for (user, minute, texts) in [(101, 1, ["1", "2"]), (102, 1, ["3", "4"]), (101, 2, ["5", "6"])] {
        let fill = |commit: &mut Commit| {
            commit.at = at(minute);
            commit.outgoing = texts.iter().map(|text| message(user, text)).collect();
        };
        ids.extend(fixture.turn(&person(user), fill).await.outbox);
    }
    // They fail in another order. The fourth is sent, the fifth waits.
    for id in [ids[5], ids[1], ids[2], ids[0]] {
        settle(&fixture, id, Settlement::Failed(format!("403: no {}", id.0).into())).await;
    }
    settle(&fixture, ids[3], Settlement::Sent { labelled: None }).await;
    fixture.restart().await;
    let page = async |after: Option<&FailedRow>, limit| {
        fixture.operator().failed(BOT, after.map(FailedRow::cursor), limit).await.expect("answered")
    };
    let first = page(None, 3).await;
    assert_eq!(first.iter().map(|row| row.id).collect::<Vec<_>>(), ids[..3]);
    let key = person(101);
    let outgoing = message(101, "1");
    assert_eq!(
        first[0],
        FailedRow { id: ids[0], key, outgoing, reason: format!("403: no {}", ids[0].0).into(), at: at(1) }
    );
    assert_eq!(page(Some(&first[0]), 1).await, first[1..2], "of those of one commit");
    let rest = page(Some(&first[2]), 3).await;
    assert_eq!(rest.iter().map(|row| (row.id, row.at)).collect::<Vec<_>>(), [(ids[5], at(2))]);
    assert_eq!(page(rest.last(), 3).await, []);
}

/// Fields of a call that must not be sent twice.
fn sent_once() -> OutgoingExtras {
    OutgoingExtras { if_unsure: IfUnsure::Drop, ..OutgoingExtras::default() }
}

/// A failed secret message keeps its chat and reason, but not its body.
pub async fn a_secret_that_failed_is_not_kept(mut fixture: Fixture) {
    let extras = OutgoingExtras { secret: true, label: Some("pin".into()), ..OutgoingExtras::default() };
    let secret = |text| message(101, text).with(extras.clone());
    // A message that only mentions secrets is not secret.
    let plain = message(101, r#"{"secret":true}"#);
    let messages = vec![secret("739154"), secret("739155"), plain.clone()];
    let ids = fixture.turn(&person(101), |commit| commit.outgoing = messages).await.outbox;
    assert_eq!(fixture.unsent().await[0].outgoing, secret("739154"), "it can be sent");
    settle(&fixture, ids[0], Settlement::Sent { labelled: Some((101, "pin".into(), 7)) }).await;
    for id in &ids[1..] {
        settle(&fixture, *id, Settlement::Failed("403: blocked".into())).await;
    }
    fixture.restart().await;
    let rows = fixture.operator().failed(BOT, None, ALL).await.expect("answered");
    let no_body = Outgoing { body: Outgoing::NO_BODY.into(), ..secret("") };
    let failed: Vec<_> = rows.iter().map(|row| (row.id, &row.outgoing, &*row.reason)).collect();
    assert_eq!(failed, [(ids[1], &no_body, "403: blocked"), (ids[2], &plain, "403: blocked")]);
    assert_eq!(fixture.unsent().await, []);
}

/// Many messages are settled in one call; the others stay.
pub async fn messages_are_settled_together(fixture: Fixture) {
    let ids = say(&fixture, 101, &["1", "2", "3", "4"]).await;
    let sent = |id| Settled { id, outcome: Settlement::Sent { labelled: None } };
    let failed = Settled { id: ids[2], outcome: Settlement::Failed("400: too long".into()) };
    let settled = vec![sent(ids[0]), failed, sent(ids[3])];
    fixture.store().settle(fixture.epoch, settled, at(2)).await.expect("settled");
    assert_eq!(texts(&fixture.unsent().await), ["2"]);
    assert_eq!(fixture.statistics().await.failed, 1);
}

/// When a group becomes a supergroup, its messages move; others do not.
pub async fn messages_follow_a_chat_that_moved(fixture: Fixture) {
    let old = -500;
    let new = -1_002_000_000_500;
    let other = -501;
    let group = crate::key::ConversationKey { chat: old, ..person(101) };
    let messages = [message(old, "1"), message(other, "2"), message(old, "3")];
    let ids = fixture.turn(&group, |commit| commit.outgoing = messages.to_vec()).await.outbox;
    settle(&fixture, ids[0], Settlement::Moved { from: old, to: new }).await;
    let rows = fixture.unsent().await;
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    assert_eq!(texts(&rows), ["1", "2", "3"]);
    for (row, chat) in rows.iter().zip([new, other, new]) {
        assert_eq!(row.outgoing.chat, Some(chat));
        let body: serde_json::Value = serde_json::from_str(&row.outgoing.body).expect("a body is JSON");
        assert_eq!(body["chat_id"], chat);
    }
    assert_eq!(rows[0].key, group, "the conversation does not change");
}

/// A label refers to the last message sent under it.
pub async fn a_label_names_the_message_sent_last(mut fixture: Fixture) {
    let ids = say(&fixture, 101, &["1", "2", "3"]).await;
    assert_eq!(fixture.store().labelled(BOT, 101, "menu").await.expect("answered"), None);
    for (id, (chat, message)) in ids.into_iter().zip([(101, 7), (101, 8), (102, 9)]) {
        settle(&fixture, id, Settlement::Sent { labelled: Some((chat, "menu".into(), message)) }).await;
    }
    fixture.restart().await;
    assert_eq!(fixture.store().labelled(BOT, 101, "menu").await.expect("answered"), Some(8));
    assert_eq!(fixture.store().labelled(BOT, 102, "menu").await.expect("answered"), Some(9));
    assert_eq!(fixture.store().labelled(BOT, 101, "other").await.expect("answered"), None);
}

/// After a crash it is known which messages may have been sent.
pub async fn a_message_being_sent_is_known_after_a_restart(mut fixture: Fixture) {
    let once = |text| message(101, text).with(sent_once());
    let outgoing = vec![once("1"), once("2")];
    let ids = fixture.turn(&person(101), |commit| commit.outgoing = outgoing).await.outbox;
    fixture.store().sending(fixture.epoch, vec![ids[0]]).await.expect("marked");
    fixture.restart().await;
    let unsent: Vec<_> = fixture.unsent().await.into_iter().map(|row| (row.id, row.was_sending)).collect();
    assert_eq!(unsent, [(ids[0], true), (ids[1], false)]);
}

/// A send that certainly failed clears the mark of its message only.
pub async fn a_message_can_be_marked_as_not_sent(mut fixture: Fixture) {
    let once = |text| message(101, text).with(sent_once());
    let outgoing = vec![once("1"), once("2"), once("3")];
    let ids = fixture.turn(&person(101), |commit| commit.outgoing = outgoing).await.outbox;
    fixture.store().sending(fixture.epoch, ids[..2].to_vec()).await.expect("marked");
    fixture.store().not_sent(fixture.epoch, vec![ids[0], ids[2]]).await.expect("taken back");
    fixture.restart().await;
    let unsent: Vec<_> = fixture.unsent().await.into_iter().map(|row| (row.id, row.was_sending)).collect();
    assert_eq!(unsent, [(ids[0], false), (ids[1], true), (ids[2], false)]);
    fixture.store().sending(fixture.epoch, vec![ids[0]]).await.expect("marked again");
    assert!(fixture.unsent().await[0].was_sending, "it is tried again");
}

/// A repeated broadcast does not send twice.
pub async fn a_post_happens_once(mut fixture: Fixture) {
    let post = || vec![(person(101), message(101, "news")), (person(102), message(102, "news"))];
    let ids = fixture.store().post(fixture.epoch, "news of may", post(), at(3)).await.expect("posted");
    assert_eq!(ids.len(), 2);
    fixture.restart().await;
    let again = fixture.store().post(fixture.epoch, "news of may", post(), at(3)).await.expect("answered");
    assert!(again.is_empty() || again == ids, "a repeated post adds nothing");
    let rows = fixture.unsent().await;
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    assert_eq!(rows.iter().map(|row| &row.key).collect::<Vec<_>>(), [&person(101), &person(102)]);
    fixture.store().post(fixture.epoch, "news of june", post(), at(4)).await.expect("posted");
    assert_eq!(fixture.unsent().await.len(), 4);
}

/// A post has the time of its caller: stores have no clock.
pub async fn a_post_has_the_time_it_was_given(fixture: Fixture) {
    let post = vec![(person(101), message(101, "news"))];
    fixture.store().post(fixture.epoch, "news", post, at(7)).await.expect("posted");
    assert_eq!(fixture.unsent().await[0].at, at(7));
    assert_eq!(fixture.statistics().await.outbox_oldest, Some(at(7)));
}

/// The time of the oldest unsent message is reported.
pub async fn the_oldest_unsent_message_is_known(fixture: Fixture) {
    assert_eq!(fixture.statistics().await.outbox_oldest, None);
    let mut ids = Vec::new();
    for minute in [2, 5] {
        let committed = fixture
            .turn(&person(101), |commit| {
                commit.at = at(minute);
                commit.outgoing = vec![message(101, "said")];
            })
            .await;
        ids.extend(committed.outbox);
    }
    assert_eq!(fixture.statistics().await.outbox_oldest, Some(at(2)));
    settle(&fixture, ids[0], Settlement::Sent { labelled: None }).await;
    assert_eq!(fixture.statistics().await.outbox_oldest, Some(at(5)));
}
