//! What comes in, and what comes back: the inbox and the effects.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::RedisBackend;
use super::gather::{gather, page_for};
use super::keys::{Thing, partition_of, partition_of_id};
use super::numbers::Own;
use super::ordered::{id_of, name_of};
use super::progress::Written;
use super::rows::{self, unreadable};
use super::wire::{Call, all_or_none};
use crate::key::DialogueKey;
use crate::store::{
    BoxError, EffectId, Epoch, InboxRow, Incoming, Mark, Origin, Receipt, Seq, StoreError, StoreResult,
};

/// The two would lie in different partitions, and could not be exchanged in one step.
const NOT_WHO_ASKED: &str = "the outcome of an effect goes to the chat that asked for it";

/// Where an input stands in the queue of its conversation.
#[derive(Clone, Copy)]
pub(super) enum Rank {
    /// It is told only of what is delivered.
    First,
    Behind,
}

/// What the server said of a batch, partition by partition.
pub(super) struct Put {
    /// Whose each partition is, and the places in the batch of those that went to it.
    places: Vec<(i64, Vec<usize>)>,
    pub(super) answers: Vec<Written>,
}

impl Put {
    /// What became of each input, in the order of the batch; nothing of one that was known.
    pub(super) fn places(&self, count: usize) -> StoreResult<Vec<Option<(Rank, Seq)>>> {
        let mut found = vec![None; count];
        for ((_, places), answer) in self.places.iter().zip(&self.answers) {
            for (place, word) in places.iter().zip(&answer.more).filter(|(_, word)| *word != "known") {
                let (rank, number) = word.strip_prefix('+').map_or((Rank::Behind, &**word), |id| (Rank::First, id));
                found[*place] = Some((rank, Seq(number.parse().map_err(unreadable)?)));
            }
        }
        Ok(found)
    }

    /// The bot of a room that has had fewer writes than were seen, if there is one.
    pub(super) fn older(&self) -> Option<i64> {
        let mut rooms = self.places.iter().zip(&self.answers);
        rooms.find(|(_, answer)| answer.word == "older").map(|((bot, _), _)| *bot)
    }
}

impl RedisBackend {
    pub(super) async fn receive_batch(&self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let own = self.numbers.own(epoch)?;
        if batch.is_empty() {
            return self.check(&own).await.map(|()| Vec::new());
        }
        batch.iter().try_for_each(|incoming| self.numbers.own_of(epoch, incoming.key.bot).map(drop))?;
        let put = self.put_all("receive", |_, _| own.text(), &batch, |_, incoming| mark_of(incoming)).await?;
        self.receipts(&own, put, batch.len()).await
    }

    /// The same of inputs that may have come before without a mark to know them by: each may be given one of its own.
    pub(in crate::store) async fn receive_once(
        &self,
        epoch: Epoch,
        batch: Vec<(Incoming, Option<Mark>)>,
    ) -> StoreResult<Vec<Receipt>> {
        let own = self.numbers.own(epoch)?;
        batch.iter().try_for_each(|(incoming, _)| self.numbers.own_of(epoch, incoming.key.bot).map(drop))?;
        let (batch, marks): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let mark = |place: usize, incoming: &Incoming| match &marks[place] {
            Some(mark) => format!("={}", rows::mark(mark)),
            None => mark_of(incoming),
        };
        let put = self.put_all("receive", |_, _| own.text(), &batch, mark).await?;
        self.receipts(&own, put, batch.len()).await
    }

    async fn receipts(&self, own: &Own, put: Put, count: usize) -> StoreResult<Vec<Receipt>> {
        self.all_done(own, &put.answers).await?;
        let receipt = |place: Option<(Rank, Seq)>| place.map_or(Receipt::Known, |(_, seq)| Receipt::New(seq));
        Ok(put.places(count)?.into_iter().map(receipt).collect())
    }

    /// Puts inputs into their inboxes by a function, one call for each partition. `pass` is its first argument there, and
    /// `mark` what an input is known by.
    pub(super) async fn put_all(
        &self,
        function: &'static str,
        pass: impl Fn(i64, usize) -> String,
        batch: &[Incoming],
        mark: impl Fn(usize, &Incoming) -> String,
    ) -> StoreResult<Put> {
        let mut parts: BTreeMap<(i64, usize), (Vec<usize>, Vec<String>)> = BTreeMap::new();
        for (place, incoming) in batch.iter().enumerate() {
            let partition = partition_of(&incoming.key);
            let bot = incoming.key.bot;
            let (places, args) = parts
                .entry((bot, partition))
                .or_insert_with(|| (Vec::new(), vec![pass(bot, partition), partition.to_string()]));
            let name = name_of(&incoming.key);
            let row = rows::input(&name, incoming);
            places.push(place);
            args.extend([mark(place, incoming), name, row]);
        }
        let mut places = Vec::new();
        let mut calls = Vec::new();
        for ((bot, partition), (part, args)) in parts {
            calls.push(self.write_room(function, (bot, partition), Thing::Queue, args));
            places.push((bot, part));
        }
        // All are on their way at once.
        let answers = all_or_none(join_all(calls).await)?;
        Ok(Put { places, answers })
    }

    pub(super) async fn inputs_of(&self, key: &DialogueKey, after: Seq, limit: usize) -> StoreResult<Vec<InboxRow>> {
        let rows = self.rows_of(key, (Thing::Queue, Thing::Inbox), after.0, limit).await?;
        rows.iter().map(|row| rows::read_input(key.bot, row).map_err(unreadable)).collect()
    }

    pub(super) async fn finish(&self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> StoreResult<Receipt> {
        let own = self.numbers.own_of(epoch, outcome.key.bot)?;
        let partition = partition_of(&outcome.key);
        if partition != partition_of_id(effect.0) {
            return Err(StoreError::Unsupported(NOT_WHO_ASKED));
        }
        let name = name_of(&outcome.key);
        let row = rows::input(&name, &outcome);
        let args = vec![own.text(), partition.to_string(), id_of(effect.0), name, row];
        let answer = self.write_room("finish_effect", (own.bot, partition), Thing::Effects, args).await?;
        self.done(own.bot, epoch, &answer.word).await?;
        match answer.more.first() {
            Some(seq) => Ok(Receipt::New(Seq(seq.parse().map_err(unreadable)?))),
            None => Ok(Receipt::Known),
        }
    }

    /// Rows of a bot's list in all partitions, after a number, in order.
    pub(super) async fn rows_after<T>(
        &self,
        bot: i64,
        list: Thing,
        after: i64,
        limit: usize,
        read: impl Fn(&str) -> Result<T, BoxError>,
    ) -> StoreResult<Vec<T>> {
        let rooms = self.keys.rooms(bot);
        let read = &read;
        let page = |partition: usize, after: String, limit: usize| {
            let mut command = redis::cmd("ZRANGEBYLEX");
            command.arg(rooms.one(partition, list)).arg(format!("({after}}}")).arg("+");
            command.arg("LIMIT").arg(0).arg(limit);
            async move {
                let rows: Vec<String> = self.wire.ask(&command).await?;
                rows.iter()
                    .map(|row| Ok((row[..row.len().min(19)].to_owned(), read(row).map_err(unreadable)?)))
                    .collect()
            }
        };
        gather(&id_of(after), limit, page_for(limit), |_| true, page).await
    }

    /// Rows of one conversation, found by an index.
    pub(super) async fn rows_of(
        &self,
        key: &DialogueKey,
        (index, list): (Thing, Thing),
        after: i64,
        limit: usize,
    ) -> StoreResult<Vec<String>> {
        let rooms = self.keys.rooms(key.bot);
        let partition = partition_of(key);
        let keys = [rooms.one(partition, index).to_owned(), rooms.one(partition, list).to_owned()];
        let args = vec![name_of(key), id_of(after), limit.to_string()];
        self.wire.call(Call { function: "page_of", keys: &keys, args }).await
    }
}

/// What an input is known by, if by anything.
pub(super) fn mark_of(incoming: &Incoming) -> String {
    if let Origin::Update(mark) = &incoming.origin { rows::mark(mark) } else { String::new() }
}
