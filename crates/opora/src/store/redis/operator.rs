//! What an operator sees and does.

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::future::try_join_all;

use super::RedisBackend;
use super::gather::{PAGE_MOST, gather, page_for};
use super::keys::{PARTITIONS, Thing, partition_of, partition_of_id};
use super::ordered::{id_of, key_of, name_of, number_of};
use super::rows::{self, unreadable};
use super::wire::Call;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Answer, ConversationRow, FailedRow, Filter, OperatorStore, OutboxId, Parked, ParkedId, Place, PlaceCount,
    Statistics, StoreError, StoreResult, TransitionRow,
};

/// Why there is no backup.
const NO_BACKUP: &str = "a Redis is copied by its own means: BGSAVE, or its append-only file";

impl OperatorStore for RedisBackend {
    fn bots(&self) -> Answer<'_, Vec<i64>> {
        Box::pin(async {
            let bots = self.bots_or(None).await?;
            let here = try_join_all(bots.iter().map(|bot| self.has_anything(*bot))).await?;
            Ok(bots.into_iter().zip(here).filter(|(_, here)| *here).map(|(bot, _)| bot).collect())
        })
    }

    fn clear_lease(&self, bot: i64) -> Answer<'_, ()> {
        Box::pin(self.let_go(bot, None))
    }

    fn reset<'a>(&'a self, key: &'a DialogueKey, now: Millis) -> Answer<'a, bool> {
        let args = vec![name_of(key), now.0.to_string()];
        Box::pin(self.yes("reset", (key.bot, partition_of(key)), Thing::Ended, args))
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        Box::pin(async move {
            self.remember(row.key.bot).await?;
            let replace = if replace { "yes" } else { "no" };
            let mut args = vec![name_of(&row.key), replace.to_owned(), row.version.0.to_string()];
            args.push(row.updated_at.0.to_string());
            args.extend(rows::state(row.stored.as_ref())?);
            self.yes("import", (row.key.bot, partition_of(&row.key)), Thing::Ended, args).await
        })
    }

    fn failed(&self, bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Answer<'_, Vec<FailedRow>> {
        Box::pin(self.failed_rows(bot, after, limit))
    }

    fn parked_one(&self, id: ParkedId) -> Answer<'_, Option<Parked>> {
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
                let room = (bot, partition_of_id(id.0));
                if id.0 >= 0 && self.yes("retry_parked", room, Thing::Retry, vec![id_of(id.0)]).await? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    fn transitions(&self, bot: i64, after: i64, limit: usize) -> Answer<'_, Vec<TransitionRow>> {
        let read = move |row: &str| Ok(rows::read_transition(bot, row)?.0);
        Box::pin(self.rows_after(bot, Thing::Moves, after, limit, read))
    }

    fn transitions_of<'a>(&'a self, key: &'a DialogueKey, after: i64, limit: usize) -> Answer<'a, Vec<TransitionRow>> {
        Box::pin(async move {
            let rooms = self.keys.rooms(key.bot);
            let partition = partition_of(key);
            let keys = [Thing::Conv, Thing::Moves].map(|thing| rooms.one(partition, thing).to_owned());
            let mut found = Vec::new();
            let mut from = String::new();
            // Each record knows the one before it, so the way is gone backwards, in pages.
            loop {
                let args = vec![name_of(key), from, id_of(after), PAGE_MOST.to_string()];
                let page = self.wire.call(Call { function: "way", keys: &keys, args }).await?;
                for row in &page {
                    found.push(rows::read_transition(key.bot, row).map_err(unreadable)?);
                }
                match found.last() {
                    Some((_, Some(before))) if page.len() == PAGE_MOST => from = id_of(*before),
                    _ => break,
                }
            }
            Ok(found.into_iter().rev().map(|(row, _)| row).take(limit).collect())
        })
    }

    fn backup<'a>(&'a self, _to: &'a Path) -> Answer<'a, ()> {
        Box::pin(async { Err(StoreError::Unsupported(NO_BACKUP)) })
    }

    fn tidy(&self, is_dry_run: bool) -> Answer<'_, Vec<String>> {
        Box::pin(self.drop_old_libraries(is_dry_run))
    }
}

impl RedisBackend {
    pub(super) async fn list_rows(
        &self,
        filter: &Filter,
        after: Option<&DialogueKey>,
        limit: usize,
    ) -> StoreResult<Vec<ConversationRow>> {
        let mut found = Vec::new();
        let user = filter.user.map(number_of).unwrap_or_default();
        // The bot comes first in the order of keys.
        let first = after.map_or(i64::MIN, |key| key.bot);
        for bot in self.bots_or(filter.bot).await?.into_iter().filter(|bot| *bot >= first) {
            let after = after.filter(|key| key.bot == bot).map(name_of).unwrap_or_default();
            let rooms = self.keys.rooms(bot);
            let page = |partition: usize, after: String, limit: usize| {
                let keys = [Thing::Index, Thing::Conv].map(|thing| rooms.one(partition, thing).to_owned());
                let args = vec![after, limit.to_string(), user.clone()];
                async move {
                    let rows = self.wire.call(Call { function: "list", keys: &keys, args }).await?;
                    rows.chunks_exact(2).map(|pair| placed(bot, pair)).collect()
                }
            };
            let is_choosy = filter.user.is_some() || filter.dialogue.is_some() || filter.state.is_some();
            let size = if is_choosy { PAGE_MOST } else { page_for(limit) };
            let shows = |row: &ConversationRow| filter.shows(&row.key, row.stored.as_ref());
            let wanted = |row: &Option<ConversationRow>| row.as_ref().is_some_and(shows);
            found.extend(gather(&after, limit - found.len(), size, wanted, page).await?.into_iter().flatten());
        }
        Ok(found)
    }

    pub(super) async fn numbers_of(&self, bot: Option<i64>) -> StoreResult<Statistics> {
        let mut all = Statistics::default();
        let mut by_place = BTreeMap::new();
        for bot in self.bots_or(bot).await? {
            let rooms = self.keys.rooms(bot);
            let call = |at| Call { function: "numbers", keys: rooms.up_to(at, Thing::Failed), args: Vec::new() };
            for answer in self.wire.call_all((0..PARTITIONS).map(call).collect()).await? {
                add(&mut all, &mut by_place, &answer)?;
            }
        }
        let counted = by_place.into_iter().map(|(place, conversations)| PlaceCount { place, conversations });
        all.by_place = counted.collect();
        Ok(all)
    }

    pub(super) async fn parked_rows(&self, bot: Option<i64>, limit: usize) -> StoreResult<Vec<Parked>> {
        let mut found = Vec::new();
        for bot in self.bots_or(bot).await? {
            found.extend(self.flagged_rows(bot, (Thing::Parked, Thing::Retry), 0, limit, rows::read_parked).await?);
        }
        found.sort_by_key(|parked| parked.id);
        found.truncate(limit);
        Ok(found)
    }

    pub(super) async fn parked_wanted(&self, bot: i64, limit: usize) -> StoreResult<Vec<Parked>> {
        let rooms = self.keys.rooms(bot);
        let wanted = (0..PARTITIONS).map(async |partition| {
            self.wire.ask::<Vec<i64>>(redis::cmd("SMEMBERS").arg(rooms.one(partition, Thing::Retry))).await
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

    /// This bot, or all that were ever here.
    async fn bots_or(&self, bot: Option<i64>) -> StoreResult<Vec<i64>> {
        if let Some(bot) = bot {
            return Ok(vec![bot]);
        }
        let mut bots: Vec<i64> = self.wire.ask(redis::cmd("SMEMBERS").arg(self.keys.bots())).await?;
        bots.sort_unstable();
        Ok(bots)
    }

    async fn has_anything(&self, bot: i64) -> StoreResult<bool> {
        if self.lease_of(bot).await?.is_some() {
            return Ok(true);
        }
        let rooms = self.keys.rooms(bot);
        let keys_there = (0..PARTITIONS).map(async |partition| {
            // The room itself stays; it holds nothing of anybody's.
            let things = &rooms.up_to(partition, Thing::Posts)[1..];
            self.wire.ask::<usize>(redis::cmd("EXISTS").arg(things)).await
        });
        Ok(try_join_all(keys_there).await?.into_iter().any(|number| number > 0))
    }

    async fn parked_of(&self, bot: i64, ParkedId(id): ParkedId) -> StoreResult<Option<Parked>> {
        if id < 0 {
            return Ok(None);
        }
        let rooms = self.keys.rooms(bot);
        let partition = partition_of_id(id);
        let keys = [Thing::Parked, Thing::Retry].map(|thing| rooms.one(partition, thing).to_owned());
        let args = vec![id_of(id - 1), "1".to_owned()];
        let answer = self.wire.call(Call { function: "page", keys: &keys, args }).await?;
        let [row, retry] = &answer[..] else { return Ok(None) };
        let parked = rows::read_parked(row, retry == "1").map_err(unreadable)?;
        Ok(Some(parked).filter(|parked| parked.id.0 == id))
    }

    async fn yes(
        &self,
        function: &'static str,
        room: (i64, usize),
        last: Thing,
        args: Vec<String>,
    ) -> StoreResult<bool> {
        Ok(self.write_room(function, room, last, args).await?.word == "yes")
    }
}

/// A listed conversation; none if it is somebody else's, whom nobody asked for.
fn placed(bot: i64, pair: &[String]) -> StoreResult<(String, Option<ConversationRow>)> {
    if pair[1].is_empty() {
        return Ok((pair[0].clone(), None));
    }
    let key = key_of(bot, &pair[0]).ok_or_else(|| unreadable("a list names no conversation"))?;
    Ok((pair[0].clone(), Some(rows::read_conversation(key, &pair[1])?)))
}

/// Adds the numbers of a room, as the server's function gives them.
fn add(all: &mut Statistics, by_place: &mut BTreeMap<Place, i64>, answer: &[String]) -> StoreResult<()> {
    let number = |text: &String| text.parse::<i64>().map_err(unreadable);
    let [inbox, outbox, failed, timers, effects, parked, oldest, places @ ..] = answer else {
        return Err(unreadable("the numbers of a room are not all there"));
    };
    all.inbox += number(inbox)?;
    all.outbox += number(outbox)?;
    all.failed += number(failed)?;
    all.timers += number(timers)?;
    all.effects += number(effects)?;
    all.parked += number(parked)?;
    if !oldest.is_empty() {
        let at = rows::said_at(oldest).map_err(unreadable)?;
        all.outbox_oldest = Some(all.outbox_oldest.map_or(at, |oldest| oldest.min(at)));
    }
    for pair in places.chunks_exact(2) {
        match &*pair[0] {
            "*" => all.active += number(&pair[1])?,
            place => {
                *by_place.entry(serde_json::from_str(place).map_err(unreadable)?).or_default() += number(&pair[1])?;
            }
        }
    }
    Ok(())
}
