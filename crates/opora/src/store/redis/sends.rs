//! What was said and is to be sent.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::RedisBackend;
use super::gather::{PAGE_MOST, gather, page_for};
use super::keys::{Thing, partition_of_chat, partition_of_id, partition_of_post};
use super::numbers::Own;
use super::ordered::{id_of, name_of};
use super::rows::{self, unreadable};
use super::wire::{Call, all_or_none};
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Epoch, FailedRow, OutboxId, OutboxRow, Outgoing, Settled, Settlement, StoreResult};

/// Arguments by partition.
type Parts = BTreeMap<usize, Vec<String>>;

impl RedisBackend {
    pub(super) async fn unsent_rows(&self, bot: i64, after: OutboxId, limit: usize) -> StoreResult<Vec<OutboxRow>> {
        let read = |row: &str, was_sending| rows::read_message(bot, row, was_sending);
        self.flagged_rows(bot, (Thing::Outbox, Thing::Sending), after.0, limit, read).await
    }

    /// Says one thing of messages, in the partitions where they lie.
    pub(super) async fn say_of_ids(&self, function: &'static str, epoch: Epoch, ids: Vec<OutboxId>) -> StoreResult<()> {
        let own = self.numbers.own(epoch)?;
        if ids.is_empty() {
            return self.check(&own).await;
        }
        let mut parts = Parts::new();
        for id in ids {
            parts.entry(partition_of_id(id.0)).or_insert_with(|| vec![own.text()]).push(id_of(id.0));
        }
        self.call_parts(&own, function, Thing::Sending, parts).await
    }

    pub(super) async fn settle_all(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> StoreResult<()> {
        let own = self.numbers.own(epoch)?;
        if settled.is_empty() {
            return self.check(&own).await;
        }
        let mut sent = Parts::new();
        let mut labels = Parts::new();
        let mut parts = Parts::new();
        let mut moves = Vec::new();
        let begun = || vec![own.text(), at.0.to_string()];
        for Settled { id, outcome } in settled {
            let partition = partition_of_id(id.0);
            match outcome {
                Settlement::Sent { labelled: None } => {
                    sent.entry(partition).or_default().push(id_of(id.0));
                }
                Settlement::Sent { labelled: Some((chat, label, message)) } => {
                    let home = partition_of_chat(own.bot, chat);
                    let args = ["labelled".to_owned(), rows::label(chat, &label), message.to_string()];
                    // Where the message lies elsewhere, its label must be there before it goes.
                    let to = if home == partition { &mut parts } else { &mut labels };
                    to.entry(home).or_insert_with(begun).extend(args);
                    let args = ["sent".to_owned(), id_of(id.0), String::new()];
                    parts.entry(partition).or_insert_with(begun).extend(args);
                }
                Settlement::Failed(reason) => {
                    let args = ["failed".to_owned(), id_of(id.0), reason.into()];
                    parts.entry(partition).or_insert_with(begun).extend(args);
                }
                Settlement::Moved { from, to } => moves.push((id, from, to)),
            }
        }
        // They go along with turns that are committed at the same time.
        let noted = sent.into_iter().map(|(partition, ids)| self.rounds.sent(&own, partition, ids));
        for word in all_or_none(join_all(noted).await)? {
            self.done(own.bot, epoch, &word).await?;
        }
        self.call_parts(&own, "settle", Thing::LabelAges, labels).await?;
        self.call_parts(&own, "settle", Thing::LabelAges, parts).await?;
        for (id, from, to) in moves {
            self.redirect(&own, id, from, to).await?;
        }
        Ok(())
    }

    pub(super) async fn post_rows(
        &self,
        epoch: Epoch,
        once: &str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> StoreResult<Vec<OutboxId>> {
        let own = self.numbers.own(epoch)?;
        let partition = partition_of_post(once);
        let mut args = vec![own.text(), at.0.to_string(), once.to_owned()];
        let mut ids = Vec::new();
        for (key, outgoing) in &outgoing {
            self.numbers.own_of(epoch, key.bot)?;
            let id = own.next(partition)?;
            args.push(rows::message(id, &name_of(key), at, outgoing)?);
            ids.push(OutboxId(id));
        }
        let answer = self.write_room("post", (own.bot, partition), Thing::Posts, args).await?;
        self.done(own.bot, epoch, &answer.word).await?;
        Ok(if answer.word == "new" { ids } else { Vec::new() })
    }

    /// Keeps a message that has failed elsewhere among those that failed here; once, by its name.
    pub(in crate::store) async fn keep_failed(
        &self,
        epoch: Epoch,
        once: &str,
        row: &OutboxRow,
        reason: &str,
    ) -> StoreResult<()> {
        self.bring("fail", epoch, once, row, Some(reason)).await
    }

    /// Takes a message over that was in the act elsewhere and is to be sent once at most: it is in the act here as well, from
    /// the same step on. Once, by its name.
    pub(in crate::store) async fn post_unsure(&self, epoch: Epoch, once: &str, row: &OutboxRow) -> StoreResult<()> {
        self.bring("post_unsure", epoch, once, row, None).await
    }

    async fn bring(
        &self,
        function: &'static str,
        epoch: Epoch,
        once: &str,
        row: &OutboxRow,
        reason: Option<&str>,
    ) -> StoreResult<()> {
        let own = self.numbers.own_of(epoch, row.key.bot)?;
        let partition = partition_of_post(once);
        let brought = rows::message(own.next(partition)?, &name_of(&row.key), row.at, &row.outgoing)?;
        let mut args = vec![own.text(), row.at.0.to_string(), once.to_owned(), brought];
        args.extend(reason.map(str::to_owned));
        let answer = self.write_room(function, (own.bot, partition), Thing::Posts, args).await?;
        self.done(own.bot, epoch, &answer.word).await
    }

    /// Messages that could not be sent, by the time at which they were said.
    pub(super) async fn failed_rows(
        &self,
        bot: i64,
        after: Option<(Millis, OutboxId)>,
        limit: usize,
    ) -> StoreResult<Vec<FailedRow>> {
        let rooms = self.keys.rooms(bot);
        let page = |partition: usize, after: String, limit: usize| {
            let list = rooms.one(partition, Thing::Failed).to_owned();
            async move {
                let first = self.rank_behind(&list, &after).await?;
                let mut page = redis::cmd("ZRANGE");
                page.arg(&list).arg(first).arg(first + limit.saturating_sub(1));
                let rows: Vec<String> = self.wire.ask(&page).await?;
                let read = |row: &String| {
                    let row = rows::read_failed(bot, row).map_err(unreadable)?;
                    Ok((place_of(row.place()), row))
                };
                rows.iter().map(read).collect()
            }
        };
        gather(&after.map(place_of).unwrap_or_default(), limit, page_for(limit), |_| true, page).await
    }

    /// How many rows of the failed ones stand up to a place. Those of one moment stand in the order of their numbers.
    async fn rank_behind(&self, list: &str, place: &str) -> StoreResult<usize> {
        let Some((at, id)) = place.split_at_checked(id_of(0).len()) else { return Ok(0) };
        let at: i64 = at.parse().map_err(unreadable)?;
        let mut low: usize = self.wire.ask(redis::cmd("ZCOUNT").arg(list).arg("-inf").arg(format!("({at}"))).await?;
        let mut high: usize = self.wire.ask(redis::cmd("ZCOUNT").arg(list).arg("-inf").arg(at)).await?;
        while low < high {
            let middle = low + (high - low) / 2;
            let row: Vec<String> = self.wire.ask(redis::cmd("ZRANGE").arg(list).arg(middle).arg(middle)).await?;
            // What was cleaned away meanwhile is looked for no further.
            if row.first().is_some_and(|row| row.get(..id.len()) <= Some(id)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    pub(super) async fn labelled_message(&self, bot: i64, chat: i64, label: &str) -> StoreResult<Option<i64>> {
        let rooms = self.keys.rooms(bot);
        let labels = rooms.one(partition_of_chat(bot, chat), Thing::Labels);
        self.wire.ask(redis::cmd("HGET").arg(labels).arg(rows::label(chat, label))).await
    }

    /// Rows of a list in all partitions, each with whether it is in a set, after a number, in order.
    pub(super) async fn flagged_rows<T>(
        &self,
        bot: i64,
        (list, set): (Thing, Thing),
        after: i64,
        limit: usize,
        read: impl Fn(&str, bool) -> Result<T, crate::store::BoxError>,
    ) -> StoreResult<Vec<T>> {
        let rooms = self.keys.rooms(bot);
        let read = &read;
        let page = |partition: usize, after: String, limit: usize| {
            let keys = [rooms.one(partition, list).to_owned(), rooms.one(partition, set).to_owned()];
            async move {
                let args = vec![after, limit.to_string()];
                let rows = self.wire.call(Call { function: "page", keys: &keys, args }).await?;
                let read = |pair: &[String]| {
                    let row = read(&pair[0], pair[1] == "1").map_err(unreadable)?;
                    Ok((pair[0][..pair[0].len().min(19)].to_owned(), row))
                };
                rows.chunks_exact(2).map(read).collect()
            }
        };
        gather(&id_of(after), limit, page_for(limit), |_| true, page).await
    }

    /// Calls a function in the partitions that have something to do.
    async fn call_parts(&self, own: &Own, function: &'static str, last: Thing, parts: Parts) -> StoreResult<()> {
        let answers = self.write_rooms(function, own.bot, last, parts.into_iter().collect()).await?;
        self.all_done(own, &answers).await
    }

    /// A group became a supergroup: what was said to it from `id` on goes to the new chat.
    async fn redirect(&self, own: &Own, id: OutboxId, from: i64, to: i64) -> StoreResult<()> {
        let mut after = OutboxId(id.0 - 1);
        loop {
            // Page by page, for an outbox may be larger than memory.
            let rows = self.unsent_rows(own.bot, after, PAGE_MOST).await?;
            let last = rows.last().map(|row| row.id);
            let is_last_page = rows.len() < PAGE_MOST;
            let mut calls = Vec::new();
            for mut row in rows.into_iter().filter(|row| row.outgoing.chat == Some(from)) {
                row.outgoing.redirect(to);
                let new = rows::message(row.id.0, &name_of(&row.key), row.at, &row.outgoing)?;
                // Telegram refused this one: it was not sent.
                let is_unsent = if row.id == id { "yes" } else { "no" };
                let args = vec![own.text(), id_of(row.id.0), new, is_unsent.to_owned()];
                calls.push((partition_of_id(row.id.0), args));
            }
            let answers = self.write_rooms("redirect", own.bot, Thing::Sending, calls).await?;
            self.all_done(own, &answers).await?;
            match last {
                Some(last) if !is_last_page => after = last,
                _ => return Ok(()),
            }
        }
    }
}

/// A place among failed messages as a text that sorts as they do.
fn place_of((at, id): (Millis, OutboxId)) -> String {
    id_of(at.0) + &id_of(id.0)
}
