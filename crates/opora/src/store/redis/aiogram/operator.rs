//! Operator commands, lists and statistics for states in aiogram's keys.
//!
//! aiogram keeps no list of its keys. They are found with a `SCAN` cursor, so that the server goes on serving, and are
//! kept from one page of a list to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::super::connection::Call;
use super::super::keys::KeyKind;
use super::super::ordered::name_of;
use super::super::rows;
use super::Shared;
use super::snapshot::{Snapshot, shown};
use crate::aiogram::{DEFAULT_DESTINY, Part, StorageKey, conversion};
use crate::clock::{Millis, Stopwatch};
use crate::key::ConversationKey;
use crate::store::{ConversationRow, Filter, StateCount, Statistics, Store, StoreError, StoreResult};

/// The `COUNT` of a `SCAN`.
const SCAN_COUNT: usize = 1_000;
/// How many conversations are read together.
const PAGE: usize = 256;
/// How long listed keys are reused after their last use.
const LISTED_KEYS_TTL: Duration = Duration::from_secs(60);

const UNKNOWN_BOT: &str = "aiogram's keys name no bot here (there is no with_bot_id=1), and Opora knows no bot in this Redis, \
                           or more than one: say --bot <the number before the colon of its token>";

/// The conversations with a state in aiogram's keys, in order.
pub(super) struct ListedKeys {
    bot: Option<i64>,
    keys: Arc<Vec<ConversationKey>>,
    used: Stopwatch,
}

impl Shared {
    pub(super) async fn list_rows(
        &self,
        filter: &Filter,
        after: Option<&ConversationKey>,
        limit: usize,
    ) -> StoreResult<Vec<ConversationRow>> {
        let with_state = self.conversations_with_state(filter.bot, after.is_none()).await?;
        let mut found = Vec::new();
        let mut after = after.cloned();
        while found.len() < limit {
            let keys = self.next_keys(&with_state, filter.bot, after.as_ref()).await?;
            let rows = try_join_all(keys.iter().map(|key| self.row(key))).await?;
            let rows = rows.into_iter().flatten().filter(|row| filter.matches(&row.key, row.stored.as_ref()));
            found.extend(rows.take(limit - found.len()));
            match keys.last() {
                Some(last) => after = Some(last.clone()),
                None => break,
            }
        }
        Ok(found)
    }

    pub(super) async fn end_conversation(&self, key: &ConversationKey, now: Millis) -> StoreResult<bool> {
        let keys = self.keys(key, KeyKind::Ended)?;
        let args = vec![name_of(key), now.0.to_string()];
        let answer = self.redis.connection.call(Call { function: "aiogram_reset", keys: &keys, args }).await?;
        Ok(answer.first().is_some_and(|word| word == "yes"))
    }

    /// Removes everything of a person under aiogram's prefix, also data without a state and other destinies; then the
    /// rest.
    pub(super) async fn forget_person(&self, bot: i64, user: i64, now: Millis) -> StoreResult<u64> {
        if user <= 0 {
            return Ok(0);
        }
        let nameless = self.bot_of_nameless_keys(Some(bot)).await?;
        let mut names = BTreeSet::new();
        self.each_name(|name| {
            if let Ok((key, _)) = self.layout.keys.parse(name, self.layout.strategy, nameless)
                && key.bot == bot
                && (key.user == user || key.chat == user)
            {
                names.insert(name.to_owned());
            }
        })
        .await?;
        let mut removed: u64 = 0;
        // One by one, because on a Cluster they may be on different nodes.
        for name in &names {
            removed += self.redis.connection.query::<u64>(redis::cmd("DEL").arg(name)).await?;
        }
        Ok(removed + self.redis.forget(bot, user, now).await?)
    }

    pub(super) async fn import_row(&self, row: &ConversationRow, replace: bool) -> StoreResult<bool> {
        let key = self.conversation(&row.key);
        let existing = self.read_snapshot(&key, None).await?.map(|snapshot| snapshot.raw).unwrap_or_default();
        let mut stored = row.stored.clone();
        let record = match stored.as_ref().and_then(conversion::unmapped_record) {
            // The next turn reads the state from aiogram's keys.
            Some(record) => {
                stored = None;
                record
            }
            None => self.record(row.stored.as_ref(), &existing)?,
        };
        self.redis.register_bot(key.bot).await?;
        let replace = if replace { "yes" } else { "no" }.to_owned();
        let mut args = vec![name_of(&key), replace.clone()];
        args.extend(self.encode_record(&record));
        args.extend([name_of(&key), replace, row.version.0.to_string(), row.updated_at.0.to_string()]);
        args.extend(rows::state(stored.as_ref())?);
        let keys = self.keys(&key, KeyKind::Ended)?;
        let answer = self.redis.connection.call(Call { function: "aiogram_import", keys: &keys, args }).await?;
        Ok(answer.first().is_some_and(|word| word == "yes"))
    }

    /// A bot counts the conversations that it has processed, because reading every key each time would cost too much. A
    /// tool without a mapping counts aiogram's keys.
    pub(super) async fn statistics_of(&self, bot: Option<i64>) -> StoreResult<Statistics> {
        let mut statistics = self.redis.statistics(bot).await?;
        if self.translate.is_some() {
            return Ok(statistics);
        }
        let filter = Filter { bot, ..Filter::default() };
        let mut after = None;
        let mut by_state = BTreeMap::new();
        statistics.active = 0;
        loop {
            let rows = self.list_rows(&filter, after.as_ref(), PAGE).await?;
            let Some(last) = rows.last() else { break };
            after = Some(last.key.clone());
            for state in rows.into_iter().filter_map(|row| row.stored?.states.into_iter().next()) {
                statistics.active += 1;
                *by_state.entry(state).or_default() += 1;
            }
        }
        let counted = by_state.into_iter().map(|(state, conversations)| StateCount { state, conversations });
        statistics.by_state = counted.collect();
        Ok(statistics)
    }

    /// A conversation for a list. `None` if nothing of it is left.
    async fn row(&self, key: &ConversationKey) -> StoreResult<Option<ConversationRow>> {
        let snapshot = match self.read_snapshot(key, None).await {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => return Ok(None),
            // The others are listed nevertheless.
            Err(StoreError::Unreadable { key, source }) => {
                tracing::warn!(%key, error = %source, "cannot list a conversation");
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let stored = match self.translate {
            Some(_) => self.stored(&snapshot).unwrap_or_else(|_| shown(&snapshot)),
            None => shown(&snapshot),
        };
        let is_here = stored.is_some() || snapshot.is_known();
        Ok(is_here.then_some(ConversationRow { stored, ..snapshot.row }))
    }

    /// The next keys of both sides, in order.
    async fn next_keys(
        &self,
        with_state: &[ConversationKey],
        bot: Option<i64>,
        after: Option<&ConversationKey>,
    ) -> StoreResult<BTreeSet<ConversationKey>> {
        let all = Filter { bot, ended: true, ..Filter::default() };
        let ours = self.redis.list(&all, after, PAGE).await?;
        let from = after.map_or(0, |after| with_state.partition_point(|key| key <= after));
        let mut keys: BTreeSet<_> = with_state[from..].iter().take(PAGE).cloned().collect();
        keys.extend(ours.into_iter().map(|row| row.key));
        // Only one page: behind it, one side may have keys that are not read yet.
        Ok(keys.into_iter().take(PAGE).collect())
    }

    /// The conversations with a state in aiogram's keys.
    async fn conversations_with_state(
        &self,
        bot: Option<i64>,
        is_first: bool,
    ) -> StoreResult<Arc<Vec<ConversationKey>>> {
        if !is_first
            && let Some(listed) = &mut *self.listed.lock()
            && listed.bot == bot
            && listed.used.elapsed() < LISTED_KEYS_TTL
        {
            listed.used = Stopwatch::start();
            return Ok(Arc::clone(&listed.keys));
        }
        let keys = Arc::new(self.scan(bot).await?);
        *self.listed.lock() = Some(ListedKeys { bot, keys: Arc::clone(&keys), used: Stopwatch::start() });
        Ok(keys)
    }

    /// The bot of keys that name no bot. Fails if there are several bots or none.
    async fn bot_of_nameless_keys(&self, wanted: Option<i64>) -> StoreResult<i64> {
        match wanted {
            Some(bot) => Ok(bot),
            // Every key names its bot, so this value is not used.
            None if self.layout.keys.with_bot_id => Ok(0),
            None => match self.redis.operator().bots().await?[..] {
                [bot] => Ok(bot),
                _ => Err(StoreError::Unsupported(UNKNOWN_BOT)),
            },
        }
    }

    /// Visits the names of all keys under aiogram's prefix. A name that is not UTF-8 is passed as an empty text.
    async fn each_name(&self, mut visit: impl FnMut(&str)) -> StoreResult<()> {
        let mut cursor = 0_u64;
        loop {
            let mut command = redis::cmd("SCAN");
            command.arg(cursor).arg("MATCH").arg(self.layout.keys.pattern()).arg("COUNT").arg(SCAN_COUNT);
            let (next, names): (u64, Vec<Vec<u8>>) = self.redis.connection.query(&command).await?;
            names.iter().for_each(|name| visit(std::str::from_utf8(name).unwrap_or_default()));
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    async fn scan(&self, wanted: Option<i64>) -> StoreResult<Vec<ConversationKey>> {
        let nameless = self.bot_of_nameless_keys(wanted).await?;
        let mut keys = BTreeSet::new();
        let mut foreign = 0_usize;
        self.each_name(|name| match self.layout.keys.parse(name, self.layout.strategy, nameless) {
            Ok((key, Part::State)) => keys.extend(conversation(key, wanted)),
            Ok(_) => {}
            Err(_) => foreign += 1,
        })
        .await?;
        if foreign > 0 {
            tracing::warn!(keys = foreign, "keys under aiogram's prefix do not fit these options and this strategy");
        }
        Ok(keys.into_iter().collect())
    }
}

impl Snapshot {
    /// Whether we have a row.
    fn is_known(&self) -> bool {
        self.row.updated_at != Millis::default()
    }
}

/// The conversation of a key. `None` if it is another bot's or has another destiny than the default.
fn conversation(key: StorageKey, wanted: Option<i64>) -> Option<ConversationKey> {
    let StorageKey { bot, chat, user, thread, business, destiny } = key;
    let is_wanted = wanted.is_none_or(|wanted| wanted == bot) && &*destiny == DEFAULT_DESTINY;
    is_wanted.then_some(ConversationKey { bot, chat, user, thread, business })
}
