//! Turns that were decided in SQL, carried out here.
//!
//! A decision is refused for an old epoch only: the application's writes are done, so everything else of its turn has to
//! follow. It is carried out once, however often it is asked for, and under the numbers that it was decided with.

use std::future::Future;

use super::RedisBackend;
use super::keys::{PARTITIONS, Thing, partition_of};
use super::ordered::name_of;
use super::rounds::together;
use super::rows::unreadable;
use super::turns::{Draft, Room, Supply};
use super::wire::Call;
use crate::key::DialogueKey;
use crate::store::{Commit, Committed, Epoch, StoreResult, TimerChange, Version};

/// What became of a decision.
#[derive(Debug)]
pub(in crate::store) enum CarriedOut {
    /// The conversation stands where the decision leads to.
    Done(Committed),
    /// Somebody else had moved the conversation: its state was left as it is.
    Moved,
    /// It was carried out before, under the same numbers.
    Known(Committed),
}

impl RedisBackend {
    /// The bot that an epoch was given for here.
    pub(in crate::store) fn bot_of(&self, epoch: Epoch) -> StoreResult<i64> {
        self.numbers.own(epoch).map(|own| own.bot)
    }

    /// The last epoch that was given here for a bot.
    pub(in crate::store) fn last_epoch(&self, bot: i64) -> Option<Epoch> {
        self.numbers.last_of(bot)
    }

    /// Says how a commit would end now; nothing is changed.
    pub(in crate::store) fn stands<'a>(
        &'a self,
        epoch: Epoch,
        commit: &Commit,
    ) -> impl Future<Output = StoreResult<()>> + Send + use<'a> {
        let own = self.numbers.own_of(epoch, commit.key.bot);
        let says = own.and_then(|own| Ok((own.pass(), Draft::of(Supply::Own(&own), commit).beginning(commit)?)));
        let room = Room::of(commit);
        let key = commit.key.clone();
        async move {
            let Room { bot, partition, last } = room;
            let (lease, turn) = says?;
            let args = together(self.witness.pass(bot, partition, &lease), vec![turn], Vec::new());
            let keys = self.keys.rooms(bot);
            let answer = self.wire.call(Call { function: "stands", keys: keys.up_to(partition, last), args }).await?;
            self.judge(epoch, &key, answer.first().map_or("", String::as_str)).await
        }
    }

    /// Numbers for everything that a turn asks for.
    pub(in crate::store) fn numbers_for(&self, epoch: Epoch, commit: &Commit) -> StoreResult<Vec<i64>> {
        let own = self.numbers.own_of(epoch, commit.key.bot)?;
        let partition = partition_of(&commit.key);
        let timers = commit.timers.iter().filter(|change| matches!(change, TimerChange::Set { .. })).count();
        let count = commit.outgoing.len() + timers + commit.effects.len() + usize::from(commit.transition.is_some());
        (0..count).map(|_| own.next(partition)).collect()
    }

    /// Carries a decided turn out, under these numbers.
    pub(in crate::store) async fn carry_out(
        &self,
        epoch: Epoch,
        // Not shared: what it may write is not to be had from two places.
        commit: &mut Commit,
        numbers: &[i64],
    ) -> StoreResult<CarriedOut> {
        let own = self.numbers.own_of(epoch, commit.key.bot)?;
        let (turn, committed) = Draft::of(Supply::Given(numbers.iter()), commit).whole(commit)?;
        let Room { bot, partition, last } = Room::of(commit);
        let args = together(own.text(), vec![turn], Vec::new());
        let answer = self.write_room("carry_out", (bot, partition), last, args).await?;
        self.done(bot, epoch, &answer.word).await?;
        own.seen.note_version(committed.version.0);
        Ok(match &*answer.word {
            "moved" => CarriedOut::Moved,
            "known" => CarriedOut::Known(committed),
            _ => CarriedOut::Done(committed),
        })
    }

    /// Which of a bot's decisions, by conversation and the version that each leads to, are not carried out.
    pub(in crate::store) async fn not_carried_out(
        &self,
        bot: i64,
        decided: Vec<(DialogueKey, Version)>,
    ) -> StoreResult<Vec<DialogueKey>> {
        let rooms = self.keys.rooms(bot);
        let mut parts: Vec<(Vec<DialogueKey>, Vec<String>)> = vec![Default::default(); PARTITIONS];
        for (key, to) in decided {
            let (keys, args) = &mut parts[partition_of(&key)];
            args.extend([name_of(&key), to.0.to_string()]);
            keys.push(key);
        }
        let asked = parts.iter().enumerate().filter(|(_, (keys, _))| !keys.is_empty());
        let calls = asked.clone().map(|(partition, (_, args))| {
            let keys = rooms.up_to(partition, Thing::Conv);
            Call { function: "not_carried_out", keys, args: args.clone() }
        });
        let answers = self.wire.call_all(calls.collect()).await?;
        let mut found = Vec::new();
        for ((_, (keys, _)), places) in asked.zip(answers) {
            for place in places {
                let key = place.parse().ok().and_then(|place: usize| keys.get(place));
                found.push(key.cloned().ok_or_else(|| unreadable("an answer names no decision"))?);
            }
        }
        Ok(found)
    }
}
