//! Operator commands, lists and statistics.

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::future::try_join_all;

use super::RedisBackend;
use super::connection::Call;
use super::gather::{MAX_PAGE, gather, page_for};
use super::keys::{KeyKind, PARTITIONS, partition_of, partition_of_id};
use super::ordered::{id_of, key_of, name_of, number_of};
use super::rows::{self, unreadable};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    Answer, ConversationRow, FailedRow, Filter, JobFilter, JobId, JobRequest, JobRow, OperatorStore, OutboxId,
    ParkedId, ParkedTurn, StateCount, StateName, Statistics, StoreError, StoreResult, TransitionRow,
};

const NO_BACKUP: &str = "back up a Redis with its own tools: BGSAVE, or its append-only file";

impl OperatorStore for RedisBackend {
    answers! { self;
        jobs(filter: &'a JobFilter, before: Option<JobId>, limit: usize) -> Vec<JobRow> =>
            self.list_jobs(filter, before, limit);
        request_jobs(bot: i64, request: JobRequest, now: Millis) -> u64 => self.request(bot, request, now);
        paused_queues(bot: i64) -> Vec<Box<str>> => self.queues_paused(bot);
        clear_lease(bot: i64) -> () => self.end_lease(bot, None);
        failed(bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Vec<FailedRow> =>
            self.failed_rows(bot, after, limit);
        backup(_to: &'a Path) -> () => async { Err(StoreError::Unsupported(NO_BACKUP)) };
        tidy(is_dry_run: bool) -> Vec<String> => self.drop_old_libraries(is_dry_run);
    }

    fn bots(&self) -> Answer<'_, Vec<i64>> {
        Box::pin(async {
            let bots = self.bots_or(None).await?;
            let has_rows = try_join_all(bots.iter().map(|bot| self.has_anything(*bot))).await?;
            Ok(bots.into_iter().zip(has_rows).filter(|(_, has_rows)| *has_rows).map(|(bot, _)| bot).collect())
        })
    }

    fn reset<'a>(&'a self, key: &'a ConversationKey, now: Millis) -> Answer<'a, bool> {
        let args = vec![name_of(key), now.0.to_string()];
        Box::pin(self.write_yes_no("reset", (key.bot, partition_of(key)), KeyKind::Ended, args))
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        Box::pin(async move {
            self.register_bot(row.key.bot).await?;
            let replace = if replace { "yes" } else { "no" };
            let mut args = vec![name_of(&row.key), replace.to_owned(), row.version.0.to_string()];
            args.push(row.updated_at.0.to_string());
            args.extend(rows::state(row.stored.as_ref())?);
            self.write_yes_no("import", (row.key.bot, partition_of(&row.key)), KeyKind::Ended, args).await
        })
    }

    fn parked_by_id(&self, id: ParkedId) -> Answer<'_, Option<ParkedTurn>> {
        Box::pin(async move {
            for bot in self.bots_or(None).await? {
                if let Some(parked) = self.parked_of(bot, id).await? {
                    return Ok(Some(parked));
                }
            }
            Ok(None)
        })
    }

    fn retry_parked(&self, id: ParkedId) -> Answer<'_, bool> {
        Box::pin(async move {
            for bot in self.bots_or(None).await? {
                let bot_partition = (bot, partition_of_id(id.0));
                if id.0 >= 0
                    && self.write_yes_no("retry_parked", bot_partition, KeyKind::Retry, vec![id_of(id.0)]).await?
                {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        let read = move |row: &str| Ok(rows::read_transition(bot, row)?.0);
        Box::pin(self.rows_after(bot, KeyKind::Transitions, after, limit, read))
    }

    fn transitions_of<'a>(
        &'a self,
        key: &'a ConversationKey,
        after: i64,
        limit: usize,
    ) -> Answer<'a, Vec<TransitionRow>> {
        Box::pin(async move {
            let kinds = [KeyKind::Conversations, KeyKind::Transitions];
            let keys = self.keys.bot_keys(key.bot).owned(partition_of(key), kinds);
            let mut found = Vec::new();
            let mut from = String::new();
            // Each transition has the id of the one before it, so they are read backwards, in pages.
            loop {
                let args = vec![name_of(key), from, id_of(after), MAX_PAGE.to_string()];
                let page = self.connection.call(Call { function: "way", keys: &keys, args }).await?;
                for row in &page {
                    found.push(rows::read_transition(key.bot, row).map_err(unreadable)?);
                }
                match found.last() {
                    Some((_, Some(before))) if page.len() == MAX_PAGE => from = id_of(*before),
                    _ => break,
                }
            }
            Ok(found.into_iter().rev().map(|(row, _)| row).take(limit).collect())
        })
    }
}

impl RedisBackend {
    pub(super) async fn list_rows(
        &self,
        filter: &Filter,
        after: Option<&ConversationKey>,
        limit: usize,
    ) -> StoreResult<Vec<ConversationRow>> {
        let mut found = Vec::new();
        let user = filter.user.map(number_of).unwrap_or_default();
        // Keys are ordered by bot first.
        let first = after.map_or(i64::MIN, |key| key.bot);
        for bot in self.bots_or(filter.bot).await?.into_iter().filter(|bot| *bot >= first) {
            let after = after.filter(|key| key.bot == bot).map(name_of).unwrap_or_default();
            let bot_keys = self.keys.bot_keys(bot);
            let page = |partition: usize, after: String, limit: usize| {
                let keys = bot_keys.owned(partition, [KeyKind::Index, KeyKind::Conversations]);
                let args = vec![after, limit.to_string(), user.clone()];
                async move {
                    let rows = self.connection.call(Call { function: "list", keys: &keys, args }).await?;
                    rows.chunks_exact(2).map(|pair| read_listed(bot, pair)).collect()
                }
            };
            let has_filter = filter.user.is_some() || filter.dialogue.is_some() || filter.state.is_some();
            let size = if has_filter { MAX_PAGE } else { page_for(limit) };
            let shows = |row: &ConversationRow| filter.matches(&row.key, row.stored.as_ref());
            let wanted = |row: &Option<ConversationRow>| row.as_ref().is_some_and(shows);
            found.extend(gather(&after, limit - found.len(), size, wanted, page).await?.into_iter().flatten());
        }
        Ok(found)
    }

    pub(super) async fn statistics_of(&self, bot: Option<i64>) -> StoreResult<Statistics> {
        let mut all = Statistics::default();
        let mut by_state = BTreeMap::new();
        for bot in self.bots_or(bot).await? {
            let bot_keys = self.keys.bot_keys(bot);
            let call = |at| Call { function: "numbers", keys: bot_keys.up_to(at, KeyKind::Failed), args: Vec::new() };
            for answer in self.connection.call_all((0..PARTITIONS).map(call).collect()).await? {
                add_statistics(&mut all, &mut by_state, &answer)?;
            }
        }
        let counted = by_state.into_iter().map(|(state, conversations)| StateCount { state, conversations });
        all.by_state = counted.collect();
        Ok(all)
    }

    pub(super) async fn parked_rows(&self, bot: Option<i64>, limit: usize) -> StoreResult<Vec<ParkedTurn>> {
        let mut found = Vec::new();
        for bot in self.bots_or(bot).await? {
            found.extend(self.flagged_rows(bot, (KeyKind::Parked, KeyKind::Retry), 0, limit, rows::read_parked).await?);
        }
        found.sort_by_key(|parked| parked.id);
        found.truncate(limit);
        Ok(found)
    }

    pub(super) async fn parked_for_retry(&self, bot: i64, limit: usize) -> StoreResult<Vec<ParkedTurn>> {
        let bot_keys = self.keys.bot_keys(bot);
        let wanted = (0..PARTITIONS).map(async |partition| {
            self.connection.query::<Vec<i64>>(redis::cmd("SMEMBERS").arg(bot_keys.key(partition, KeyKind::Retry))).await
        });
        let mut ids: Vec<i64> = try_join_all(wanted).await?.into_iter().flatten().collect();
        ids.sort_unstable();
        ids.truncate(limit);
        let rows = try_join_all(ids.into_iter().map(|id| self.parked_of(bot, ParkedId(id)))).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    pub(super) async fn forget_parked(&self, id: ParkedId) -> StoreResult<bool> {
        for bot in self.bots_or(None).await? {
            if id.0 >= 0 && self.drop_parked_rows(bot, None, vec![id]).await? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// This bot, or all bots that ever used this store.
    async fn bots_or(&self, bot: Option<i64>) -> StoreResult<Vec<i64>> {
        if let Some(bot) = bot {
            return Ok(vec![bot]);
        }
        let mut bots: Vec<i64> = self.connection.query(redis::cmd("SMEMBERS").arg(self.keys.bots())).await?;
        bots.sort_unstable();
        Ok(bots)
    }

    async fn has_anything(&self, bot: i64) -> StoreResult<bool> {
        if self.lease_of(bot).await?.is_some() {
            return Ok(true);
        }
        let bot_keys = self.keys.bot_keys(bot);
        let keys_there = (0..PARTITIONS).map(async |partition| {
            // Without the header, which stays and holds no data of people.
            let keys = &bot_keys.up_to(partition, KeyKind::Posts)[1..];
            self.connection.query::<usize>(redis::cmd("EXISTS").arg(keys)).await
        });
        Ok(try_join_all(keys_there).await?.into_iter().any(|number| number > 0))
    }

    async fn parked_of(&self, bot: i64, ParkedId(id): ParkedId) -> StoreResult<Option<ParkedTurn>> {
        if id < 0 {
            return Ok(None);
        }
        let keys = self.keys.bot_keys(bot).owned(partition_of_id(id), [KeyKind::Parked, KeyKind::Retry]);
        let args = vec![id_of(id - 1), "1".to_owned()];
        let answer = self.connection.call(Call { function: "page", keys: &keys, args }).await?;
        let [row, retry] = &answer[..] else { return Ok(None) };
        let parked = rows::read_parked(row, retry == "1").map_err(unreadable)?;
        Ok(Some(parked).filter(|parked| parked.id.0 == id))
    }

    /// Calls a function that answers yes or no.
    async fn write_yes_no(
        &self,
        function: &'static str,
        bot_partition: (i64, usize),
        last: KeyKind,
        args: Vec<String>,
    ) -> StoreResult<bool> {
        Ok(self.writer.write(function, None, bot_partition, last, args).await?.word == "yes")
    }
}

/// A listed conversation with its name. `None` if it is another person's.
fn read_listed(bot: i64, pair: &[String]) -> StoreResult<(String, Option<ConversationRow>)> {
    if pair[1].is_empty() {
        return Ok((pair[0].clone(), None));
    }
    let key = key_of(bot, &pair[0]).ok_or_else(|| unreadable("a list names no conversation"))?;
    Ok((pair[0].clone(), Some(rows::read_conversation(key, &pair[1])?)))
}

/// Adds the numbers of a partition, as the server's function returns them.
fn add_statistics(all: &mut Statistics, by_state: &mut BTreeMap<StateName, i64>, answer: &[String]) -> StoreResult<()> {
    let number = |text: &String| text.parse::<i64>().map_err(unreadable);
    let [inbox, outbox, failed, timers, effects, parked, old_input, old_message, old_effect, states @ ..] = answer
    else {
        return Err(unreadable("statistics of a partition are incomplete"));
    };
    all.inbox += number(inbox)?;
    all.outbox += number(outbox)?;
    all.failed += number(failed)?;
    all.timers += number(timers)?;
    all.effects += number(effects)?;
    all.parked += number(parked)?;
    for (row, time, oldest) in [
        (old_input, rows::input_time as fn(&str) -> _, &mut all.inbox_oldest),
        (old_message, rows::message_time, &mut all.outbox_oldest),
        (old_effect, rows::effect_time, &mut all.effects_oldest),
    ] {
        if !row.is_empty() {
            let at = time(row).map_err(unreadable)?;
            *oldest = Some(oldest.map_or(at, |oldest| oldest.min(at)));
        }
    }
    for pair in states.chunks_exact(2) {
        match &*pair[0] {
            "*" => all.active += number(&pair[1])?,
            state => {
                *by_state.entry(serde_json::from_str(state).map_err(unreadable)?).or_default() += number(&pair[1])?;
            }
        }
    }
    Ok(())
}
