//! What comes in, and what comes back: the inbox and the effects.

use super::RedisStore;
use super::gather::{gather, page_for};
use super::keys::{PARTITIONS, Thing, partition_of, partition_of_id};
use super::ordered::{id_of, name_of};
use super::rows::{self, unreadable};
use super::wire::Call;
use crate::key::DialogueKey;
use crate::store::{
    BoxError, EffectId, EffectRow, Epoch, InboxRow, Incoming, Origin, Receipt, Seq, StoreError, StoreResult,
};

/// The two would lie in different partitions, and could not be exchanged in one step.
const NOT_WHO_ASKED: &str = "the outcome of an effect goes to the chat that asked for it";

/// The inputs of a batch that go to one partition.
#[derive(Default)]
struct Part {
    args: Vec<String>,
    /// Their places in the batch, and their numbers.
    places: Vec<(usize, Seq)>,
}

impl RedisStore {
    pub(super) async fn receive_batch(&self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let own = self.numbers.own(epoch)?;
        if batch.is_empty() {
            return self.check(&own).await.map(|()| Vec::new());
        }
        let mut parts: [Part; PARTITIONS] = Default::default();
        for (place, incoming) in batch.iter().enumerate() {
            self.numbers.own_of(epoch, incoming.key.bot)?;
            let partition = partition_of(&incoming.key);
            let (seq, name) = (own.next(partition)?, name_of(&incoming.key));
            let row = rows::input(seq, &name, incoming);
            let mark = if let Origin::Update(mark) = &incoming.origin { rows::mark(mark) } else { String::new() };
            parts[partition].args.extend([mark, name, id_of(seq), row]);
            parts[partition].places.push((place, Seq(seq)));
        }
        let (mut calls, mut places) = (Vec::new(), Vec::new());
        for (partition, part) in parts.into_iter().enumerate().filter(|(_, part)| !part.places.is_empty()) {
            calls.push((partition, std::iter::once(own.text()).chain(part.args).collect()));
            places.push(part.places);
        }
        let answers = self.write_rooms("receive", own.bot, Thing::Queue, calls).await?;
        self.all_done(&own, &answers).await?;
        let mut receipts = vec![Receipt::Known; batch.len()];
        for (places, answer) in places.into_iter().zip(answers) {
            for ((place, seq), word) in places.into_iter().zip(answer.more) {
                if word == "new" {
                    receipts[place] = Receipt::New(seq);
                }
            }
        }
        Ok(receipts)
    }

    pub(super) async fn inputs(&self, bot: i64, after: Seq, limit: usize) -> StoreResult<Vec<InboxRow>> {
        self.rows_after(bot, Thing::Inbox, after.0, limit, |row| rows::read_input(bot, row)).await
    }

    pub(super) async fn inputs_of(&self, key: &DialogueKey, after: Seq, limit: usize) -> StoreResult<Vec<InboxRow>> {
        let rows = self.rows_of(key, (Thing::Queue, Thing::Inbox), after.0, limit).await?;
        rows.iter().map(|row| rows::read_input(key.bot, row).map_err(unreadable)).collect()
    }

    pub(super) async fn asked_effects(&self, bot: i64, after: EffectId, limit: usize) -> StoreResult<Vec<EffectRow>> {
        self.rows_after(bot, Thing::Effects, after.0, limit, |row| rows::read_effect(bot, row)).await
    }

    pub(super) async fn finish(&self, epoch: Epoch, effect: EffectId, outcome: Incoming) -> StoreResult<Receipt> {
        let own = self.numbers.own_of(epoch, outcome.key.bot)?;
        let partition = partition_of(&outcome.key);
        if partition != partition_of_id(effect.0) {
            return Err(StoreError::Unsupported(NOT_WHO_ASKED));
        }
        let (seq, name) = (own.next(partition)?, name_of(&outcome.key));
        let row = rows::input(seq, &name, &outcome);
        let args = vec![own.text(), id_of(effect.0), name, id_of(seq), row];
        let answer = self.write_room("finish_effect", (own.bot, partition), Thing::Effects, args).await?;
        self.done(own.bot, epoch, &answer.word).await?;
        Ok(if answer.word == "new" { Receipt::New(Seq(seq)) } else { Receipt::Known })
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
        let (rooms, read) = (self.keys.rooms(bot), &read);
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
        let (rooms, partition) = (self.keys.rooms(key.bot), partition_of(key));
        let keys = [rooms.one(partition, index).to_owned(), rooms.one(partition, list).to_owned()];
        let args = vec![name_of(key), id_of(after), limit.to_string()];
        self.wire.call(Call { function: "page_of", keys: &keys, args }).await
    }
}
