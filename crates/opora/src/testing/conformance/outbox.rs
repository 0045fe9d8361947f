//! What was said is sent in order, and none of it is forgotten.

use super::Subject;
use super::scene::{ALL, BOT, Scene, at, message, person};
use crate::store::{Commit, FailedRow, IfUnsure, OutboxId, OutboxRow, Outgoing, Settled, Settlement, Upload};

fn texts(rows: &[OutboxRow]) -> Vec<String> {
    let text = |row: &OutboxRow| {
        let body: serde_json::Value = serde_json::from_str(&row.outgoing.body).expect("a body is JSON");
        body["text"].as_str().expect("a message has a text").to_owned()
    };
    rows.iter().map(text).collect()
}

async fn say(scene: &Scene, user: i64, texts: &[&str]) -> Vec<OutboxId> {
    let outgoing = texts.iter().map(|text| message(user, text)).collect();
    scene.turn(&person(user), |commit| commit.outgoing = outgoing).await.outbox
}

async fn settle(scene: &Scene, id: OutboxId, outcome: Settlement) {
    scene.store().settle(scene.epoch, vec![Settled { id, outcome }], at(2)).await.expect("settled");
}

/// Within a turn, from turn to turn, and whoever holds the lease.
pub async fn messages_keep_the_order_in_which_they_were_said(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let mut ids = say(&scene, 101, &["1", "2", "3"]).await;
    ids.extend(say(&scene, 102, &["4"]).await);
    scene.restart().await;
    ids.extend(say(&scene, 101, &["5", "6"]).await);
    let rows = scene.unsent().await;
    assert_eq!(texts(&rows), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    assert!(ids.is_sorted_by(|earlier, later| earlier < later), "{ids:?}");
}

/// A start reads a long outbox page by page and misses nothing.
pub async fn the_outbox_is_read_in_pages(subject: Subject) {
    let scene = Scene::open(subject).await;
    let ids = say(&scene, 101, &["1", "2", "3", "4", "5"]).await;
    let page = scene.store().unsent(BOT, ids[1], 2).await.expect("answered");
    assert_eq!(texts(&page), ["3", "4"]);
    let rest = scene.store().unsent(BOT, ids[3], 2).await.expect("answered");
    assert_eq!(texts(&rest), ["5"]);
    assert_eq!(scene.store().unsent(BOT, ids[4], 2).await.expect("answered"), []);
}

/// A call is kept with all that belongs to it.
pub async fn a_call_comes_back_as_it_was_said(subject: Subject) {
    let scene = Scene::open(subject).await;
    let document = Outgoing {
        chat: None,
        method: "sendDocument".into(),
        body: r#"{"document":"attach://plan"}"#.into(),
        uploads: vec![Upload { name: "plan".into(), file_name: "план.pdf".into(), path: "/data/plan.pdf".into() }],
        if_unsure: IfUnsure::Drop,
        label: Some("plan".into()),
        edits_label: Some("menu".into()),
        secret: true,
    };
    scene.turn(&person(101), |commit| commit.outgoing = vec![document.clone(), message(101, "then")]).await;
    let rows = scene.unsent().await;
    assert_eq!(rows[0].outgoing, document);
    assert_eq!(rows[1].outgoing, message(101, "then"));
}

/// What was sent is not sent again, and a second word about it changes nothing.
pub async fn a_sent_message_leaves_the_outbox(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let ids = say(&scene, 101, &["1", "2"]).await;
    settle(&scene, ids[0], Settlement::Sent { labelled: None }).await;
    settle(&scene, ids[0], Settlement::Sent { labelled: None }).await;
    scene.restart().await;
    assert_eq!(texts(&scene.unsent().await), ["2"]);
    assert_eq!(scene.statistics().await.failed, 0);
}

/// A message that cannot be sent holds up nobody, and is not forgotten either.
pub async fn a_failed_message_is_set_aside(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let ids = say(&scene, 101, &["1", "2"]).await;
    settle(&scene, ids[0], Settlement::Failed("403: the bot was blocked".into())).await;
    scene.restart().await;
    assert_eq!(texts(&scene.unsent().await), ["2"]);
    let statistics = scene.statistics().await;
    assert_eq!((statistics.outbox, statistics.failed), (1, 1));
}

/// What could not be sent can be looked at: whole, with the reason, in the order in which it was said, page by page.
pub async fn failed_messages_are_shown_in_pages(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let mut ids = Vec::new();
    for (user, minute, texts) in [(101, 1, ["1", "2"]), (102, 1, ["3", "4"]), (101, 2, ["5", "6"])] {
        let fill = |commit: &mut Commit| {
            commit.at = at(minute);
            commit.outgoing = texts.iter().map(|text| message(user, text)).collect();
        };
        ids.extend(scene.turn(&person(user), fill).await.outbox);
    }
    // Not in the order in which they were said; the fourth is sent, the fifth waits.
    for id in [ids[5], ids[1], ids[2], ids[0]] {
        settle(&scene, id, Settlement::Failed(format!("403: no {}", id.0).into())).await;
    }
    settle(&scene, ids[3], Settlement::Sent { labelled: None }).await;
    scene.restart().await;
    let page = async |after: Option<&FailedRow>, limit| {
        scene.operator().failed(BOT, after.map(FailedRow::place), limit).await.expect("answered")
    };
    let first = page(None, 3).await;
    assert_eq!(first.iter().map(|row| row.id).collect::<Vec<_>>(), ids[..3]);
    let key = person(101);
    let outgoing = message(101, "1");
    assert_eq!(
        first[0],
        FailedRow { id: ids[0], key, outgoing, reason: format!("403: no {}", ids[0].0).into(), at: at(1) }
    );
    assert_eq!(page(Some(&first[0]), 1).await, first[1..2], "of those that were said at once");
    let rest = page(Some(&first[2]), 3).await;
    assert_eq!(rest.iter().map(|row| (row.id, row.at)).collect::<Vec<_>>(), [(ids[5], at(2))]);
    assert_eq!(page(rest.last(), 3).await, []);
}

/// Of a secret message that failed the operator sees to whom and why, and not what it said.
pub async fn a_secret_that_failed_is_not_kept(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let secret = |text| Outgoing { secret: true, label: Some("pin".into()), ..message(101, text) };
    // A message that only talks about secrets is none.
    let plain = message(101, r#"{"secret":true}"#);
    let said = vec![secret("739154"), secret("739155"), plain.clone()];
    let ids = scene.turn(&person(101), |commit| commit.outgoing = said).await.outbox;
    assert_eq!(scene.unsent().await[0].outgoing, secret("739154"), "it can be sent");
    settle(&scene, ids[0], Settlement::Sent { labelled: Some((101, "pin".into(), 7)) }).await;
    for id in &ids[1..] {
        settle(&scene, *id, Settlement::Failed("403: blocked".into())).await;
    }
    scene.restart().await;
    let rows = scene.operator().failed(BOT, None, ALL).await.expect("answered");
    let no_body = Outgoing { body: Outgoing::NO_BODY.into(), ..secret("") };
    let kept: Vec<_> = rows.iter().map(|row| (row.id, &row.outgoing, &*row.reason)).collect();
    assert_eq!(kept, [(ids[1], &no_body, "403: blocked"), (ids[2], &plain, "403: blocked")]);
    assert_eq!(scene.unsent().await, []);
}

/// One word about many messages: what is not named stays.
pub async fn messages_are_settled_together(subject: Subject) {
    let scene = Scene::open(subject).await;
    let ids = say(&scene, 101, &["1", "2", "3", "4"]).await;
    let sent = |id| Settled { id, outcome: Settlement::Sent { labelled: None } };
    let failed = Settled { id: ids[2], outcome: Settlement::Failed("400: too long".into()) };
    let settled = vec![sent(ids[0]), failed, sent(ids[3])];
    scene.store().settle(scene.epoch, settled, at(2)).await.expect("settled");
    assert_eq!(texts(&scene.unsent().await), ["2"]);
    assert_eq!(scene.statistics().await.failed, 1);
}

/// A group that became a supergroup gets what was said to it, and nobody else does.
pub async fn messages_follow_a_chat_that_moved(subject: Subject) {
    let scene = Scene::open(subject).await;
    let old = -500;
    let new = -1_002_000_000_500;
    let other = -501;
    let group = crate::key::DialogueKey { chat: old, ..person(101) };
    let said = [message(old, "1"), message(other, "2"), message(old, "3")];
    let ids = scene.turn(&group, |commit| commit.outgoing = said.to_vec()).await.outbox;
    settle(&scene, ids[0], Settlement::Moved { from: old, to: new }).await;
    let rows = scene.unsent().await;
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    assert_eq!(texts(&rows), ["1", "2", "3"]);
    for (row, chat) in rows.iter().zip([new, other, new]) {
        assert_eq!(row.outgoing.chat, Some(chat));
        let body: serde_json::Value = serde_json::from_str(&row.outgoing.body).expect("a body is JSON");
        assert_eq!(body["chat_id"], chat);
    }
    assert_eq!(rows[0].key, group, "who said it does not change");
}

/// A turn edits the message it sent last under a name.
pub async fn a_label_names_the_message_sent_last(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let ids = say(&scene, 101, &["1", "2", "3"]).await;
    assert_eq!(scene.store().labelled(BOT, 101, "menu").await.expect("answered"), None);
    for (id, (chat, message)) in ids.into_iter().zip([(101, 7), (101, 8), (102, 9)]) {
        settle(&scene, id, Settlement::Sent { labelled: Some((chat, "menu".into(), message)) }).await;
    }
    scene.restart().await;
    assert_eq!(scene.store().labelled(BOT, 101, "menu").await.expect("answered"), Some(8));
    assert_eq!(scene.store().labelled(BOT, 102, "menu").await.expect("answered"), Some(9));
    assert_eq!(scene.store().labelled(BOT, 101, "other").await.expect("answered"), None);
}

/// After a crash it is known which messages may have been sent.
pub async fn a_message_in_the_act_of_sending_is_told_after_a_restart(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let once = |text| Outgoing { if_unsure: IfUnsure::Drop, ..message(101, text) };
    let outgoing = vec![once("1"), once("2")];
    let ids = scene.turn(&person(101), |commit| commit.outgoing = outgoing).await.outbox;
    scene.store().sending(scene.epoch, vec![ids[0]]).await.expect("marked");
    scene.restart().await;
    let told: Vec<_> = scene.unsent().await.into_iter().map(|row| (row.id, row.was_sending)).collect();
    assert_eq!(told, [(ids[0], true), (ids[1], false)]);
}

/// A try that surely came to nothing leaves no doubt behind, and says nothing of other messages.
pub async fn a_message_that_was_not_sent_after_all_is_told_as_such(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let once = |text| Outgoing { if_unsure: IfUnsure::Drop, ..message(101, text) };
    let outgoing = vec![once("1"), once("2"), once("3")];
    let ids = scene.turn(&person(101), |commit| commit.outgoing = outgoing).await.outbox;
    scene.store().sending(scene.epoch, ids[..2].to_vec()).await.expect("marked");
    scene.store().not_sent(scene.epoch, vec![ids[0], ids[2]]).await.expect("taken back");
    scene.restart().await;
    let told: Vec<_> = scene.unsent().await.into_iter().map(|row| (row.id, row.was_sending)).collect();
    assert_eq!(told, [(ids[0], false), (ids[1], true), (ids[2], false)]);
    scene.store().sending(scene.epoch, vec![ids[0]]).await.expect("marked again");
    assert!(scene.unsent().await[0].was_sending, "it is tried again");
}

/// A broadcast that is begun again goes on instead of going out twice.
pub async fn a_post_happens_once(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let post = || vec![(person(101), message(101, "news")), (person(102), message(102, "news"))];
    let ids = scene.store().post(scene.epoch, "news of may", post(), at(3)).await.expect("posted");
    assert_eq!(ids.len(), 2);
    scene.restart().await;
    let again = scene.store().post(scene.epoch, "news of may", post(), at(3)).await.expect("answered");
    assert!(again.is_empty() || again == ids, "a repeated post adds nothing");
    let rows = scene.unsent().await;
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    assert_eq!(rows.iter().map(|row| &row.key).collect::<Vec<_>>(), [&person(101), &person(102)]);
    scene.store().post(scene.epoch, "news of june", post(), at(4)).await.expect("posted");
    assert_eq!(scene.unsent().await.len(), 4);
}

/// A message outside of a turn is as old as its sender says: no store has a clock of its own.
pub async fn a_post_bears_its_time(subject: Subject) {
    let scene = Scene::open(subject).await;
    let post = vec![(person(101), message(101, "news"))];
    scene.store().post(scene.epoch, "news", post, at(7)).await.expect("posted");
    assert_eq!(scene.unsent().await[0].at, at(7));
    assert_eq!(scene.statistics().await.outbox_oldest, Some(at(7)));
}

/// A message said long before is told by its age.
pub async fn the_oldest_unsent_message_is_known(subject: Subject) {
    let scene = Scene::open(subject).await;
    assert_eq!(scene.statistics().await.outbox_oldest, None);
    let mut ids = Vec::new();
    for minute in [2, 5] {
        let committed = scene
            .turn(&person(101), |commit| {
                commit.at = at(minute);
                commit.outgoing = vec![message(101, "said")];
            })
            .await;
        ids.extend(committed.outbox);
    }
    assert_eq!(scene.statistics().await.outbox_oldest, Some(at(2)));
    settle(&scene, ids[0], Settlement::Sent { labelled: None }).await;
    assert_eq!(scene.statistics().await.outbox_oldest, Some(at(5)));
}
