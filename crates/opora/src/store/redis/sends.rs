//! The outbox: unsent, settled, posted and failed messages, and labels.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::RedisBackend;
use super::connection::{Call, all_or_none};
use super::gather::{MAX_PAGE, gather, page_for};
use super::held_leases::HeldLease;
use super::keys::{KeyKind, partition_of_chat, partition_of_id, partition_of_post};
use super::ordered::{id_of, name_of};
use super::rows::{self, unreadable};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{Epoch, FailedRow, OutboxId, OutboxRow, Outgoing, Settled, Settlement, StoreResult};

/// Arguments by partition.
type Parts = BTreeMap<usize, Vec<String>>;

impl RedisBackend {
    pub(super) async fn unsent_rows(&self, bot: i64, after: OutboxId, limit: usize) -> StoreResult<Vec<OutboxRow>> {
        let read = |row: &str, was_sending| rows::read_message(bot, row, was_sending);
        self.flagged_rows(bot, (KeyKind::Outbox, KeyKind::Sending), after.0, limit, read).await
    }

    /// Calls a function with ids of messages, in their partitions.
    pub(super) async fn update_messages(
        &self,
        function: &'static str,
        epoch: Epoch,
        ids: Vec<OutboxId>,
    ) -> StoreResult<()> {
        let lease = self.held_leases.by_epoch(epoch)?;
        if ids.is_empty() {
            return self.check_lease(&lease).await;
        }
        let mut parts = Parts::new();
        for id in ids {
            parts.entry(partition_of_id(id.0)).or_default().push(id_of(id.0));
        }
        self.call_parts(&lease, function, KeyKind::Sending, parts).await
    }

    pub(super) async fn settle_all(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> StoreResult<()> {
        let lease = self.held_leases.by_epoch(epoch)?;
        if settled.is_empty() {
            return self.check_lease(&lease).await;
        }
        let mut sent = Parts::new();
        let mut labels = Parts::new();
        let mut parts = Parts::new();
        let mut moves = Vec::new();
        let begun = || vec![at.0.to_string()];
        for Settled { id, outcome } in settled {
            let partition = partition_of_id(id.0);
            match outcome {
                Settlement::Sent { labelled: None } => {
                    sent.entry(partition).or_default().push(id_of(id.0));
                }
                Settlement::Sent { labelled: Some((chat, label, message)) } => {
                    let home = partition_of_chat(lease.bot, chat);
                    let args = ["labelled".to_owned(), rows::label(chat, &label), message.to_string()];
                    // If the message is in another partition, its label must be stored before the message is removed.
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
        // These join the rounds of turns.
        let noted = sent.into_iter().map(|(partition, ids)| self.rounds.sent(&lease, partition, ids));
        for word in all_or_none(join_all(noted).await)? {
            self.check_word(lease.bot, epoch, &word).await?;
        }
        self.call_parts(&lease, "settle", KeyKind::LabelAges, labels).await?;
        self.call_parts(&lease, "settle", KeyKind::LabelAges, parts).await?;
        for (id, from, to) in moves {
            self.redirect(&lease, id, from, to).await?;
        }
        Ok(())
    }

    pub(super) async fn post_rows(
        &self,
        epoch: Epoch,
        once: &str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
        at: Millis,
    ) -> StoreResult<Vec<OutboxId>> {
        let lease = self.held_leases.by_epoch(epoch)?;
        let partition = partition_of_post(once);
        let mut args = vec![at.0.to_string(), once.to_owned()];
        let mut ids = Vec::new();
        for (key, outgoing) in &outgoing {
            self.held_leases.get(epoch, key.bot)?;
            let id = lease.next_id(partition)?;
            args.push(rows::message(id, &name_of(key), at, outgoing)?);
            ids.push(OutboxId(id));
        }
        let target = (lease.bot, partition);
        let answer = self.writer.write("post", Some(&lease.fencing_token), target, KeyKind::Posts, args).await?;
        self.check_word(lease.bot, epoch, &answer.word).await?;
        Ok(if answer.word == "new" { ids } else { Vec::new() })
    }

    /// Stores a message that failed on the journal as a failed message. Once, by its name.
    pub(crate) async fn keep_failed(&self, epoch: Epoch, once: &str, row: &FailedRow) -> StoreResult<()> {
        let FailedRow { key, outgoing, reason, at, .. } = row;
        self.import_message("fail", epoch, once, (key, outgoing, *at), Some(reason)).await
    }

    /// Stores a message that was being sent from the journal and must not be sent twice, with that flag. Once, by its
    /// name.
    pub(crate) async fn post_unsure(&self, epoch: Epoch, once: &str, row: &OutboxRow) -> StoreResult<()> {
        self.import_message("post_unsure", epoch, once, (&row.key, &row.outgoing, row.at), None).await
    }

    async fn import_message(
        &self,
        function: &'static str,
        epoch: Epoch,
        once: &str,
        (key, outgoing, at): (&ConversationKey, &Outgoing, Millis),
        reason: Option<&str>,
    ) -> StoreResult<()> {
        let lease = self.held_leases.get(epoch, key.bot)?;
        let partition = partition_of_post(once);
        let brought = rows::message(lease.next_id(partition)?, &name_of(key), at, outgoing)?;
        let mut args = vec![at.0.to_string(), once.to_owned(), brought];
        args.extend(reason.map(str::to_owned));
        let target = (lease.bot, partition);
        let answer = self.writer.write(function, Some(&lease.fencing_token), target, KeyKind::Posts, args).await?;
        self.check_word(lease.bot, epoch, &answer.word).await
    }

    /// Failed messages, by the time of their turn.
    pub(super) async fn failed_rows(
        &self,
        bot: i64,
        after: Option<(Millis, OutboxId)>,
        limit: usize,
    ) -> StoreResult<Vec<FailedRow>> {
        let bot_keys = self.keys.bot_keys(bot);
        let page = |partition: usize, after: String, limit: usize| {
            let list = bot_keys.key(partition, KeyKind::Failed).to_owned();
            async move {
                let first = self.rank_behind(&list, &after).await?;
                let mut page = redis::cmd("ZRANGE");
                page.arg(&list).arg(first).arg(first + limit.saturating_sub(1));
                let rows: Vec<String> = self.connection.query(&page).await?;
                let read = |row: &String| {
                    let row = rows::read_failed(bot, row).map_err(unreadable)?;
                    Ok((position_of(row.cursor()), row))
                };
                rows.iter().map(read).collect()
            }
        };
        gather(&after.map(position_of).unwrap_or_default(), limit, page_for(limit), |_| true, page).await
    }

    /// The rank behind a position in the list of failed messages. Messages of one moment are ordered by id.
    async fn rank_behind(&self, list: &str, place: &str) -> StoreResult<usize> {
        let Some((at, id)) = place.split_at_checked(id_of(0).len()) else { return Ok(0) };
        let at: i64 = at.parse().map_err(unreadable)?;
        let mut low: usize =
            self.connection.query(redis::cmd("ZCOUNT").arg(list).arg("-inf").arg(format!("({at}"))).await?;
        let mut high: usize = self.connection.query(redis::cmd("ZCOUNT").arg(list).arg("-inf").arg(at)).await?;
        while low < high {
            let middle = low + (high - low) / 2;
            let row: Vec<String> =
                self.connection.query(redis::cmd("ZRANGE").arg(list).arg(middle).arg(middle)).await?;
            // Rows may be cleaned meanwhile; then the search ends early.
            if row.first().is_some_and(|row| row.get(..id.len()) <= Some(id)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    pub(super) async fn labelled_message(&self, bot: i64, chat: i64, label: &str) -> StoreResult<Option<i64>> {
        let bot_keys = self.keys.bot_keys(bot);
        let labels = bot_keys.key(partition_of_chat(bot, chat), KeyKind::Labels);
        self.connection.query(redis::cmd("HGET").arg(labels).arg(rows::label(chat, label))).await
    }

    /// Rows of a list in all partitions after an id, in order, each with whether its id is in a set.
    pub(super) async fn flagged_rows<T>(
        &self,
        bot: i64,
        (list, set): (KeyKind, KeyKind),
        after: i64,
        limit: usize,
        read: impl Fn(&str, bool) -> Result<T, crate::store::BoxError>,
    ) -> StoreResult<Vec<T>> {
        let bot_keys = self.keys.bot_keys(bot);
        let read = &read;
        let page = |partition: usize, after: String, limit: usize| {
            let keys = bot_keys.owned(partition, [list, set]);
            async move {
                let args = vec![after, limit.to_string()];
                let rows = self.connection.call(Call { function: "page", keys: &keys, args }).await?;
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
    async fn call_parts(
        &self,
        lease: &HeldLease,
        function: &'static str,
        last: KeyKind,
        parts: Parts,
    ) -> StoreResult<()> {
        let token = Some(&*lease.fencing_token);
        let answers = self.writer.write_all(function, token, lease.bot, last, parts.into_iter().collect()).await?;
        self.check_all(lease, &answers).await
    }

    /// Redirects the messages to a chat from `id` on to another chat: the group became a supergroup.
    async fn redirect(&self, lease: &HeldLease, id: OutboxId, from: i64, to: i64) -> StoreResult<()> {
        let mut after = OutboxId(id.0 - 1);
        loop {
            // In pages, because an outbox may be larger than memory.
            let rows = self.unsent_rows(lease.bot, after, MAX_PAGE).await?;
            let last = rows.last().map(|row| row.id);
            let is_last_page = rows.len() < MAX_PAGE;
            let mut calls = Vec::new();
            for mut row in rows.into_iter().filter(|row| row.outgoing.chat == Some(from)) {
                row.outgoing.redirect(to);
                let new = rows::message(row.id.0, &name_of(&row.key), row.at, &row.outgoing)?;
                // Telegram refused this message, so it was not sent.
                let is_unsent = if row.id == id { "yes" } else { "no" };
                let args = vec![id_of(row.id.0), new, is_unsent.to_owned()];
                calls.push((partition_of_id(row.id.0), args));
            }
            let token = Some(&*lease.fencing_token);
            let answers = self.writer.write_all("redirect", token, lease.bot, KeyKind::Sending, calls).await?;
            self.check_all(lease, &answers).await?;
            match last {
                Some(last) if !is_last_page => after = last,
                _ => return Ok(()),
            }
        }
    }
}

/// A position among failed messages, as a text that sorts as they do.
fn position_of((at, id): (Millis, OutboxId)) -> String {
    id_of(at.0) + &id_of(id.0)
}
