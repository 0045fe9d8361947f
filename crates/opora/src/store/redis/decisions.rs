//! Carries out turns that were decided in SQL.
//!
//! Only an old epoch, or a server that came back older, refuses a decision: its SQL writes are done, so the rest of its
//! turn has to follow. It is carried out once, however often it is called, and with the ids of the decision.

use std::future::Future;

use super::RedisBackend;
use super::connection::Call;
use super::keys::{KeyKind, PARTITIONS, partition_of};
use super::ordered::name_of;
use super::rounds::commit_args;
use super::rows::unreadable;
use super::turns::{CommitTarget, IdSource, TurnEncoder};
use crate::key::ConversationKey;
use crate::store::{Commit, Committed, Epoch, StoreResult, TimerChange, Version};

/// The result of carrying out a decision.
#[derive(Debug)]
pub(crate) enum CarryOutResult {
    /// The conversation has the state of the decision.
    Done(Committed),
    /// The conversation was reset or imported meanwhile and keeps that state.
    StateOverridden,
    /// It was carried out before, with the same ids.
    AlreadyDone(Committed),
}

impl RedisBackend {
    /// The bot that an epoch was granted for here.
    pub(crate) fn bot_of(&self, epoch: Epoch) -> StoreResult<i64> {
        self.held_leases.by_epoch(epoch).map(|lease| lease.bot)
    }

    /// The last epoch that was granted here for a bot.
    pub(crate) fn last_epoch(&self, bot: i64) -> Option<Epoch> {
        self.held_leases.last_epoch(bot)
    }

    /// Checks how a commit would end now, and returns its inbox floor. Changes nothing.
    pub(crate) fn check_commit<'a>(
        &'a self,
        epoch: Epoch,
        commit: &Commit,
    ) -> impl Future<Output = StoreResult<String>> + Send + use<'a> {
        let lease = self.held_leases.get(epoch, commit.key.bot);
        let encoded = lease.and_then(|lease| {
            Ok((lease.fencing_token.to_string(), TurnEncoder::new(IdSource::Next(&lease), commit).encode_head(commit)?))
        });
        let target = CommitTarget::new(commit);
        let key = commit.key.clone();
        async move {
            let CommitTarget { bot, partition, last } = target;
            let (fencing_token, turn) = encoded?;
            let mut args = vec![self.last_seen.write_precondition(bot, partition, &fencing_token)];
            args.extend(commit_args(vec![turn], Vec::new()));
            let mut answer = self.writer.call("stands", (bot, partition), last, args).await?.into_iter();
            self.check_commit_word(epoch, &key, &answer.next().unwrap_or_default()).await?;
            Ok(answer.next().unwrap_or_default())
        }
    }

    /// New ids for all rows of a turn.
    pub(crate) fn ids_for(&self, epoch: Epoch, commit: &Commit) -> StoreResult<Vec<i64>> {
        let lease = self.held_leases.get(epoch, commit.key.bot)?;
        let partition = partition_of(&commit.key);
        let timers = commit.timers.iter().filter(|change| matches!(change, TimerChange::Set { .. })).count();
        let count = commit.outgoing.len() + timers + commit.effects.len() + usize::from(commit.transition.is_some());
        (0..count).map(|_| lease.next_id(partition)).collect()
    }

    /// Carries out a decided turn with these ids. With an inbox floor, inputs of the conversation below it are removed.
    pub(crate) async fn carry_out(
        &self,
        epoch: Epoch,
        // `&mut`, because a shared reference to the commit's writes is not `Send`.
        commit: &mut Commit,
        ids: &[i64],
        inbox_floor: Option<&str>,
    ) -> StoreResult<CarryOutResult> {
        let lease = self.held_leases.get(epoch, commit.key.bot)?;
        let (turn, committed) = TurnEncoder::new(IdSource::Given(ids.iter()), commit).encode(commit)?;
        let CommitTarget { bot, partition, last } = CommitTarget::new(commit);
        let floor = inbox_floor.map(str::to_owned).into_iter().collect();
        let args = commit_args(vec![turn], floor);
        let answer = self.writer.write("carry_out", Some(&lease.fencing_token), (bot, partition), last, args).await?;
        self.check_word(bot, epoch, &answer.word).await?;
        lease.seen.note_version(committed.version.0);
        Ok(match &*answer.word {
            "moved" => CarryOutResult::StateOverridden,
            "known" => CarryOutResult::AlreadyDone(committed),
            _ => CarryOutResult::Done(committed),
        })
    }

    /// The conversations whose decisions are not carried out, out of a list of conversations and decided versions.
    pub(crate) async fn not_carried_out(
        &self,
        bot: i64,
        decided: Vec<(ConversationKey, Version)>,
    ) -> StoreResult<Vec<ConversationKey>> {
        let bot_keys = self.keys.bot_keys(bot);
        let mut parts: Vec<(Vec<ConversationKey>, Vec<String>)> = vec![Default::default(); PARTITIONS];
        for (key, to) in decided {
            let (keys, args) = &mut parts[partition_of(&key)];
            args.extend([name_of(&key), to.0.to_string()]);
            keys.push(key);
        }
        let requested = parts.iter().enumerate().filter(|(_, (keys, _))| !keys.is_empty());
        let calls = requested.clone().map(|(partition, (_, args))| {
            let keys = bot_keys.up_to(partition, KeyKind::Conversations);
            Call { function: "not_carried_out", keys, args: args.clone() }
        });
        let answers = self.connection.call_all(calls.collect()).await?;
        let mut found = Vec::new();
        for ((_, (keys, _)), places) in requested.zip(answers) {
            for place in places {
                let key = place.parse().ok().and_then(|place: usize| keys.get(place));
                found.push(key.cloned().ok_or_else(|| unreadable("an answer names no decision"))?);
            }
        }
        Ok(found)
    }
}
