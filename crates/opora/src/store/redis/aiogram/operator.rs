//! What an operator sees and does where states are aiogram's.
//!
//! aiogram keeps no list of its keys: they are found with a cursor, so that the server goes on serving, and their names are
//! kept from one page of a list to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::super::keys::Thing;
use super::super::ordered::name_of;
use super::super::rows;
use super::super::wire::Call;
use super::Shared;
use super::look::{Seen, shown};
use crate::aiogram::{DEFAULT_DESTINY, Part, StorageKey, shape};
use crate::clock::{Millis, Stopwatch};
use crate::key::DialogueKey;
use crate::store::{ConversationRow, Filter, PlaceCount, Statistics, Store, StoreError, StoreResult};

/// How many keys Redis looks at for one answer.
const LOOKS_AT: usize = 1_000;
/// How many conversations are looked at together.
const PAGE: usize = 256;
/// After this the names are looked for anew.
const NAMES_LAST: Duration = Duration::from_secs(60);

/// Why conversations cannot be listed without a bot.
const WHOSE: &str = "aiogram's keys name no bot here (there is no with_bot_id=1), and Opora knows none in this Redis, or \
                     more than one: say --bot <the number before the colon of its token>";

/// The conversations that have a state of aiogram's, in order.
pub(super) struct Listed {
    bot: Option<i64>,
    keys: Arc<Vec<DialogueKey>>,
    used: Stopwatch,
}

impl Shared {
    pub(super) async fn list_rows(
        &self,
        filter: &Filter,
        after: Option<&DialogueKey>,
        limit: usize,
    ) -> StoreResult<Vec<ConversationRow>> {
        let theirs = self.names(filter.bot, after.is_none()).await?;
        let mut found = Vec::new();
        let mut after = after.cloned();
        while found.len() < limit {
            let keys = self.next_keys(&theirs, filter.bot, after.as_ref()).await?;
            let rows = try_join_all(keys.iter().map(|key| self.row(key))).await?;
            let rows = rows.into_iter().flatten().filter(|row| filter.shows(&row.key, row.stored.as_ref()));
            found.extend(rows.take(limit - found.len()));
            match keys.last() {
                Some(last) => after = Some(last.clone()),
                None => break,
            }
        }
        Ok(found)
    }

    pub(super) async fn end_conversation(&self, key: &DialogueKey, now: Millis) -> StoreResult<bool> {
        let keys = self.keys(key, Thing::Ended)?;
        let args = vec![name_of(key), now.0.to_string()];
        let answer = self.redis.wire.call(Call { function: "aiogram_reset", keys: &keys, args }).await?;
        Ok(answer.first().is_some_and(|word| word == "yes"))
    }

    /// Removes everything of a person under aiogram's prefix, data without a state and other destinies too; then the rest.
    pub(super) async fn forget_person(&self, bot: i64, user: i64, now: Millis) -> StoreResult<u64> {
        if user <= 0 {
            return Ok(0);
        }
        let nameless = self.bot_of_nameless_keys(Some(bot)).await?;
        let mut theirs = BTreeSet::new();
        self.each_name(|name| {
            if let Ok((key, _)) = self.layout.keys.parse(name, self.layout.strategy, nameless)
                && key.bot == bot
                && (key.user == user || key.chat == user)
            {
                theirs.insert(name.to_owned());
            }
        })
        .await?;
        let mut gone: u64 = 0;
        // One by one, for on a Cluster they may lie apart.
        for name in &theirs {
            gone += self.redis.wire.ask::<u64>(redis::cmd("DEL").arg(name)).await?;
        }
        Ok(gone + self.redis.forget(bot, user, now).await?)
    }

    pub(super) async fn import_row(&self, row: &ConversationRow, replace: bool) -> StoreResult<bool> {
        let key = self.conversation(&row.key);
        let there = self.look(&key, None).await?.map(|seen| seen.raw).unwrap_or_default();
        let mut stored = row.stored.clone();
        let record = match stored.as_ref().and_then(shape::shown_record) {
            // What it means here is read from aiogram's keys by the next turn.
            Some(record) => {
                stored = None;
                record
            }
            None => self.record(row.stored.as_ref(), &there)?,
        };
        self.redis.remember(key.bot).await?;
        let replace = if replace { "yes" } else { "no" }.to_owned();
        let mut args = vec![name_of(&key), replace.clone()];
        args.extend(self.said(&record));
        args.extend([name_of(&key), replace, row.version.0.to_string(), row.updated_at.0.to_string()]);
        args.extend(rows::state(stored.as_ref())?);
        let keys = self.keys(&key, Thing::Ended)?;
        let answer = self.redis.wire.call(Call { function: "aiogram_import", keys: &keys, args }).await?;
        Ok(answer.first().is_some_and(|word| word == "yes"))
    }

    /// A bot counts what it has led itself, as a look at every key would cost too much each time. Whoever does not know what
    /// states mean counts aiogram's.
    pub(super) async fn numbers_of(&self, bot: Option<i64>) -> StoreResult<Statistics> {
        let mut numbers = self.redis.statistics(bot).await?;
        if self.translate.is_some() {
            return Ok(numbers);
        }
        let filter = Filter { bot, ..Filter::default() };
        let mut after = None;
        let mut places = BTreeMap::new();
        numbers.active = 0;
        loop {
            let rows = self.list_rows(&filter, after.as_ref(), PAGE).await?;
            let Some(last) = rows.last() else { break };
            after = Some(last.key.clone());
            for place in rows.into_iter().filter_map(|row| row.stored?.places.into_iter().next()) {
                numbers.active += 1;
                *places.entry(place).or_default() += 1;
            }
        }
        let counted = places.into_iter().map(|(place, conversations)| PlaceCount { place, conversations });
        numbers.by_place = counted.collect();
        Ok(numbers)
    }

    /// A conversation as it is listed; none if there is nothing of it any more.
    async fn row(&self, key: &DialogueKey) -> StoreResult<Option<ConversationRow>> {
        let seen = match self.look(key, None).await {
            Ok(Some(seen)) => seen,
            Ok(None) => return Ok(None),
            // It must not keep the others from being listed.
            Err(StoreError::Unreadable { key, source }) => {
                tracing::warn!(%key, error = %source, "a conversation cannot be listed");
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let stored = match self.translate {
            Some(_) => self.stored(&seen).unwrap_or_else(|_| shown(&seen)),
            None => shown(&seen),
        };
        let is_here = stored.is_some() || seen.is_known();
        Ok(is_here.then_some(ConversationRow { stored, ..seen.row }))
    }

    /// The next keys of both sides, in order.
    async fn next_keys(
        &self,
        theirs: &[DialogueKey],
        bot: Option<i64>,
        after: Option<&DialogueKey>,
    ) -> StoreResult<BTreeSet<DialogueKey>> {
        let all = Filter { bot, ended: true, ..Filter::default() };
        let ours = self.redis.list(&all, after, PAGE).await?;
        let from = after.map_or(0, |after| theirs.partition_point(|key| key <= after));
        let mut keys: BTreeSet<_> = theirs[from..].iter().take(PAGE).cloned().collect();
        keys.extend(ours.into_iter().map(|row| row.key));
        // Beyond so many, one side may have more that are not read yet.
        Ok(keys.into_iter().take(PAGE).collect())
    }

    /// The conversations that have a state of aiogram's.
    async fn names(&self, bot: Option<i64>, is_first: bool) -> StoreResult<Arc<Vec<DialogueKey>>> {
        if !is_first
            && let Some(listed) = &mut *self.listed.lock()
            && listed.bot == bot
            && listed.used.elapsed() < NAMES_LAST
        {
            listed.used = Stopwatch::start();
            return Ok(Arc::clone(&listed.keys));
        }
        let keys = Arc::new(self.scan(bot).await?);
        *self.listed.lock() = Some(Listed { bot, keys: Arc::clone(&keys), used: Stopwatch::start() });
        Ok(keys)
    }

    /// The bot whose keys are those that name none. Nobody guesses: of several it could be any, and of none it is one that
    /// nobody knows here.
    async fn bot_of_nameless_keys(&self, wanted: Option<i64>) -> StoreResult<i64> {
        match wanted {
            Some(bot) => Ok(bot),
            // Every key names its own, so this one is none's.
            None if self.layout.keys.with_bot_id => Ok(0),
            None => match self.redis.operator().bots().await?[..] {
                [bot] => Ok(bot),
                _ => Err(StoreError::Unsupported(WHOSE)),
            },
        }
    }

    /// Looks at the names of all keys under aiogram's prefix; one that is no text is shown as empty.
    async fn each_name(&self, mut look: impl FnMut(&str)) -> StoreResult<()> {
        let mut cursor = 0_u64;
        loop {
            let mut command = redis::cmd("SCAN");
            command.arg(cursor).arg("MATCH").arg(self.layout.keys.pattern()).arg("COUNT").arg(LOOKS_AT);
            let (next, names): (u64, Vec<Vec<u8>>) = self.redis.wire.ask(&command).await?;
            names.iter().for_each(|name| look(std::str::from_utf8(name).unwrap_or_default()));
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    async fn scan(&self, wanted: Option<i64>) -> StoreResult<Vec<DialogueKey>> {
        let nameless = self.bot_of_nameless_keys(wanted).await?;
        let mut keys = BTreeSet::new();
        let mut strange = 0_usize;
        self.each_name(|name| match self.layout.keys.parse(name, self.layout.strategy, nameless) {
            Ok((key, Part::State)) => keys.extend(conversation(key, wanted)),
            Ok(_) => {}
            Err(_) => strange += 1,
        })
        .await?;
        if strange > 0 {
            tracing::warn!(
                keys = strange,
                "keys under aiogram's prefix are not built by these options and this strategy"
            );
        }
        Ok(keys.into_iter().collect())
    }
}

impl Seen {
    /// Whether there is a row of ours.
    fn is_known(&self) -> bool {
        self.row.updated_at != Millis::default()
    }
}

/// The conversation of a key; none if it is another bot's or stands beside the one that becomes a conversation.
fn conversation(key: StorageKey, wanted: Option<i64>) -> Option<DialogueKey> {
    let StorageKey { bot, chat, user, thread, business, destiny } = key;
    let is_wanted = wanted.is_none_or(|wanted| wanted == bot) && &*destiny == DEFAULT_DESTINY;
    is_wanted.then_some(DialogueKey { bot, chat, user, thread, business })
}
