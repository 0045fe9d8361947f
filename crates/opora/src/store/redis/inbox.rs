//! The inbox, and outcomes of effects.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::RedisBackend;
use super::connection::{Call, all_or_none};
use super::gather::{gather, page_for};
use super::held_leases::HeldLease;
use super::keys::{KeyKind, partition_of, partition_of_id};
use super::ordered::{id_of, name_of};
use super::rows::{self, unreadable};
use super::writes::WriteAnswer;
use crate::key::ConversationKey;
use crate::store::{
    BoxError, EffectId, Epoch, InboxRow, Incoming, Mark, Origin, Receipt, Seq, StoreError, StoreResult,
};

/// In another chat the outcome may be in another partition, and the effect could not be replaced by it atomically.
const OTHER_CHAT: &str = "the outcome of an effect goes to the chat that asked for it";

/// The position of an input in the queue of its conversation.
#[derive(Clone, Copy)]
pub(super) enum QueuePosition {
    /// Reported for deliveries only.
    First,
    Behind,
}

/// The answers to a batch, by partition.
pub(super) struct PutResult {
    /// The bot of each answer, and the positions of its inputs in the batch.
    places: Vec<(i64, Vec<usize>)>,
    pub(super) answers: Vec<WriteAnswer>,
}

impl PutResult {
    /// The queue position and inbox id of each input, in the order of the batch. `None` for a known input.
    pub(super) fn inbox_ids(&self, count: usize) -> StoreResult<Vec<Option<(QueuePosition, Seq)>>> {
        let mut found = vec![None; count];
        for ((_, places), answer) in self.places.iter().zip(&self.answers) {
            for (place, word) in places.iter().zip(&answer.rest).filter(|(_, word)| *word != "known") {
                let (rank, number) =
                    word.strip_prefix('+').map_or((QueuePosition::Behind, &**word), |id| (QueuePosition::First, id));
                found[*place] = Some((rank, Seq(number.parse().map_err(unreadable)?)));
            }
        }
        Ok(found)
    }

    /// The bot of a partition that came back older, if there is one.
    pub(super) fn older(&self) -> Option<i64> {
        let mut parts = self.places.iter().zip(&self.answers);
        parts.find(|(_, answer)| answer.word == "older").map(|((bot, _), _)| *bot)
    }
}

impl RedisBackend {
    pub(super) async fn receive_batch(&self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        if batch.is_empty() {
            let lease = self.held_leases.by_epoch(epoch)?;
            return self.check_lease(&lease).await.map(|()| Vec::new());
        }
        self.receive_once(epoch, batch.into_iter().map(|incoming| (incoming, None)).collect()).await
    }

    /// Receives inputs. A replay gives a mark to inputs that have none, so that a repeated replay knows them.
    pub(crate) async fn receive_once(
        &self,
        epoch: Epoch,
        batch: Vec<(Incoming, Option<Mark>)>,
    ) -> StoreResult<Vec<Receipt>> {
        let lease = self.held_leases.by_epoch(epoch)?;
        batch.iter().try_for_each(|(incoming, _)| self.held_leases.get(epoch, incoming.key.bot).map(drop))?;
        let (batch, marks): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let mark = |place: usize, incoming: &Incoming| match &marks[place] {
            Some(mark) => format!("={}", rows::mark(mark)),
            None => mark_of(incoming),
        };
        let put = self.put_all(Some(&lease), &batch, mark).await?;
        self.check_all(&lease, &put.answers).await?;
        let receipt = |place: Option<(QueuePosition, Seq)>| place.map_or(Receipt::Known, |(_, seq)| Receipt::New(seq));
        Ok(put.inbox_ids(batch.len())?.into_iter().map(receipt).collect())
    }

    /// Stores inputs in the inbox, one call for each partition, concurrently. Without a lease it is a delivery. `mark`
    /// gives the mark of an input.
    pub(super) async fn put_all(
        &self,
        lease: Option<&HeldLease>,
        batch: &[Incoming],
        mark: impl Fn(usize, &Incoming) -> String,
    ) -> StoreResult<PutResult> {
        let mut parts: BTreeMap<(i64, usize), (Vec<usize>, Vec<String>)> = BTreeMap::new();
        for (place, incoming) in batch.iter().enumerate() {
            let partition = partition_of(&incoming.key);
            let bot = incoming.key.bot;
            let head = || {
                let precondition = || self.last_seen.delivery_precondition(bot, partition);
                let precondition = lease.is_none().then(precondition);
                precondition.into_iter().chain([partition.to_string()]).collect()
            };
            let (places, args) = parts.entry((bot, partition)).or_insert_with(|| (Vec::new(), head()));
            let name = name_of(&incoming.key);
            let row = rows::input(&name, incoming);
            places.push(place);
            args.extend([mark(place, incoming), name, row]);
        }
        let function = if lease.is_some() { "receive" } else { "deliver" };
        let token = lease.map(|lease| &*lease.fencing_token);
        let mut places = Vec::new();
        let mut calls = Vec::new();
        for ((bot, partition), (part, args)) in parts {
            calls.push(self.writer.write(function, token, (bot, partition), KeyKind::ConversationQueue, args));
            places.push((bot, part));
        }
        let answers = all_or_none(join_all(calls).await)?;
        Ok(PutResult { places, answers })
    }

    pub(super) async fn inputs_of(
        &self,
        key: &ConversationKey,
        after: Seq,
        limit: usize,
    ) -> StoreResult<Vec<InboxRow>> {
        let keys = self.keys.bot_keys(key.bot).owned(partition_of(key), [KeyKind::ConversationQueue, KeyKind::Inbox]);
        let args = vec![name_of(key), id_of(after.0), limit.to_string()];
        let rows = self.connection.call(Call { function: "page_of", keys: &keys, args }).await?;
        rows.iter().map(|row| rows::read_input(key.bot, row).map_err(unreadable)).collect()
    }

    pub(super) async fn finish(&self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> StoreResult<Receipt> {
        let lease = self.held_leases.get(epoch, outcome.key.bot)?;
        let partition = partition_of(&outcome.key);
        if partition != partition_of_id(effect.0) {
            return Err(StoreError::Unsupported(OTHER_CHAT));
        }
        let name = name_of(&outcome.key);
        let row = rows::input(&name, &outcome);
        let args = vec![partition.to_string(), id_of(effect.0), name, row];
        let token = Some(&*lease.fencing_token);
        let target = (lease.bot, partition);
        let answer = self.writer.write("finish_effect", token, target, KeyKind::Effects, args).await?;
        self.check_word(lease.bot, epoch, &answer.word).await?;
        match answer.rest.first() {
            Some(seq) => Ok(Receipt::New(Seq(seq.parse().map_err(unreadable)?))),
            None => Ok(Receipt::Known),
        }
    }

    /// Rows of a bot's list in all partitions after an id, in order.
    pub(super) async fn rows_after<T>(
        &self,
        bot: i64,
        list: KeyKind,
        after: i64,
        limit: usize,
        read: impl Fn(&str) -> Result<T, BoxError>,
    ) -> StoreResult<Vec<T>> {
        let bot_keys = self.keys.bot_keys(bot);
        let read = &read;
        let page = |partition: usize, after: String, limit: usize| {
            let mut command = redis::cmd("ZRANGEBYLEX");
            command.arg(bot_keys.key(partition, list)).arg(format!("({after}}}")).arg("+");
            command.arg("LIMIT").arg(0).arg(limit);
            async move {
                let rows: Vec<String> = self.connection.query(&command).await?;
                rows.iter()
                    .map(|row| Ok((row[..row.len().min(19)].to_owned(), read(row).map_err(unreadable)?)))
                    .collect()
            }
        };
        gather(&id_of(after), limit, page_for(limit), |_| true, page).await
    }
}

/// The mark of an input, or an empty text.
pub(super) fn mark_of(incoming: &Incoming) -> String {
    if let Origin::Update(mark) = &incoming.origin { rows::mark(mark) } else { String::new() }
}
