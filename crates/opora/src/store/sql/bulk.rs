//! The rows that a group writes, by table.
//!
//! The list of parts defines the columns and their order. Both databases read rows by it, and write rows by it if a row
//! goes to its table unchanged. Callers add tuples in this order: `plan`, `Bulk::change` and `Bulk::keep`. Statements
//! that change rows, or write only some columns, name the columns themselves.

use serde::Serialize;

use super::failure::GroupError;
use super::rows::Rows;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{StoredState, Version};

/// Expiries are indexed by the minute.
const MINUTE_MS: i64 = 60_000;

/// Rows that get the same treatment, and their columns.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    columns: &'static [(&'static str, ColumnKind)],
    rows: Rows,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnKind {
    Number,
    Text,
}

impl Part {
    pub(crate) fn new(name: &'static str, columns: &'static [(&'static str, ColumnKind)], rows: Rows) -> Self {
        Self { name, columns, rows }
    }

    /// Adds a row: a tuple of its columns, or the value of a single column.
    pub(crate) fn add(&mut self, row: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        self.rows.add(row)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn into_rows(self) -> Rows {
        self.rows
    }

    pub(crate) fn take(&mut self) -> Self {
        Self { rows: std::mem::take(&mut self.rows), ..*self }
    }

    /// The column names, as a comma-separated list.
    pub(crate) fn columns(&self) -> String {
        self.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    }

    /// The column names with their sources. `read` gets the index of a column, or none if it is the only one.
    pub(crate) fn selected(&self, read: impl Fn(Option<usize>, ColumnKind) -> String) -> String {
        let place = |place| (self.columns.len() > 1).then_some(place);
        let column =
            |(at, (name, kind)): (usize, &(&str, ColumnKind))| format!("{} AS \"{name}\"", read(place(at), *kind));
        self.columns.iter().enumerate().map(column).collect::<Vec<_>>().join(", ")
    }
}

macro_rules! parts {
    ($($($(#[$about:meta])* $part:ident),+: $($column:ident $kind:ident),+;)+) => {
        /// The rows of a group, by what is done with them.
        #[derive(Debug)]
        pub(crate) struct Bulk {
            $($($(#[$about])* pub(crate) $part: Part,)+)+
        }

        impl Default for Bulk {
            fn default() -> Self {
                $(
                    let columns = &[$((stringify!($column), ColumnKind::$kind)),+];
                    $(let $part = Part::new(stringify!($part), columns, Rows::default());)+
                )+
                Self { $($($part),+),+ }
            }
        }

        impl Bulk {
            pub(crate) fn into_parts(self) -> Vec<Part> {
                vec![$($(self.$part),+),+]
            }
        }
    };
}

parts! {
    renewed: bot Number;
    inputs_gone: id Number;
    marks: bot Number, update_id Number, identity Text, taken_at Number;
    inputs,
    /// Inputs delivered by any instance. Another one may deliver the same at the same time.
    delivered:
        seq Number, bot Number, key Text, update_id Number, identity Text, effect Number, body Text, at Number;
    /// The positions of the delivered inputs.
    delivered_places: seq Number;
    /// The last inbox position given, for a store that counts positions in a row.
    last_place: last Number;
    /// Direct updates, which may be in the inbox meanwhile.
    direct_gone: bot Number, update_id Number, identity Text;
    changed: key Text, bot Number, chat Number, user Number, thread Number, business Text, version Number, value Text,
        states Text, dialogue Text, state Text, expires_at Number, updated_at Number, from_version Number,
        expires_minute Number;
    /// Conversations whose state does not change.
    kept: key Text, bot Number, chat Number, user Number, thread Number, business Text, version Number,
        updated_at Number, from_version Number;
    /// The expiries of changed conversations, for a store that writes them separately.
    expiry: key Text, expires_minute Number;
    outbox: id Number, bot Number, key Text, chat Number, method Text, body Text, rest Text, at Number;
    posts: once Text, bot Number, at Number;
    sending: id Number;
    not_sent: id Number;
    failed: id Number, reason Text;
    /// Messages that were sent or have failed.
    unsent_gone: id Number;
    labels: bot Number, chat Number, label Text, message Number, at Number;
    /// Moves messages from `first` on to a new chat.
    moved: bot Number, first Number, from_chat Number, to_chat Number;
    timers_gone: id Number;
    /// Timers that are cancelled and not set again.
    timers_cancelled: key Text, name Text;
    /// Each replaces a timer of the same name.
    timers: id Number, bot Number, key Text, name Text, due_at Number, body Text;
    effects_gone: id Number;
    effects: id Number, bot Number, key Text, kind Text, body Text, at Number;
    transitions: id Number, bot Number, key Text, version Number, at Number, from_state Text, to_state Text,
        cause Text, took_us Number;
    parked_gone: id Number;
    parked: id Number, bot Number, key Text, kind Text, body Text, reason Text, attempts Number, at Number,
        retry Number;
}

impl Bulk {
    /// Adds a conversation with its new state; none ends it.
    pub(crate) fn change(
        &mut self,
        text: &str,
        key: &ConversationKey,
        (from, version): (Version, Version),
        stored: Option<&StoredState>,
        updated_at: Millis,
    ) -> Result<(), GroupError> {
        let ConversationKey { bot, chat, user, thread, business } = key;
        let states = stored.map_or(Ok("[]".to_owned()), |stored| serde_json::to_string(&stored.states))?;
        let foreground = stored.and_then(|stored| stored.states.first());
        let dialogue = foreground.map(|place| &place.dialogue);
        let state = foreground.map(|place| &place.state);
        let value = stored.map(|stored| &stored.value);
        let expires_at = stored.and_then(|stored| stored.expires_at);
        let minute = expires_at.map(|at| at.0.div_euclid(MINUTE_MS));
        self.changed.add(&(
            text, bot, chat, user, thread, business, version, value, states, dialogue, state, expires_at, updated_at,
            from, minute,
        ))?;
        Ok(self.expiry.add(&(text, minute))?)
    }

    /// Adds a conversation whose state does not change.
    pub(crate) fn keep(
        &mut self,
        text: &str,
        key: &ConversationKey,
        (from, version): (Version, Version),
        updated_at: Millis,
    ) -> Result<(), GroupError> {
        let ConversationKey { bot, chat, user, thread, business } = key;
        Ok(self.kept.add(&(text, bot, chat, user, thread, business, version, updated_at, from))?)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Parts and their tables, the columns that only the part has, and the required columns that the part lacks.
    const TABLES: [(&str, &str, &[&str], &[&str]); 12] = [
        ("marks", "marks", &[], &[]),
        ("inputs", "inbox", &[], &[]),
        ("delivered", "inbox", &[], &[]),
        ("changed", "conversations", &["from_version"], &[]),
        ("kept", "conversations", &["from_version"], &["states"]),
        ("outbox", "outbox", &[], &[]),
        ("posts", "posts", &[], &[]),
        ("labels", "labels", &[], &[]),
        ("timers", "timers", &[], &[]),
        ("effects", "effects", &[], &[]),
        ("transitions", "transitions", &[], &[]),
        ("parked", "parked", &[], &[]),
    ];

    /// The columns of a table in a script, and whether each is required.
    fn columns_of(table: &str, script: &str) -> BTreeMap<String, bool> {
        let (_, rest) = script.split_once(&format!("CREATE TABLE opora_{table} (\n")).unwrap();
        let (lines, _) = rest.split_once("\n)").unwrap();
        let column = |line: &str| {
            let name = line.split(' ').next().unwrap().replace('"', "");
            (name, line.contains(" NOT NULL") && !line.contains(" DEFAULT ") || line.contains(" PRIMARY KEY"))
        };
        let is_column = |line: &&str| line.starts_with(|first: char| first.is_lowercase() || first == '"');
        lines.lines().map(str::trim).filter(is_column).map(column).collect()
    }

    /// Checks that the parts fit the tables of a script.
    pub(crate) fn fits(script: &str) {
        let parts = Bulk::default().into_parts();
        for (name, table, only_in_part, only_in_table) in TABLES {
            let part = parts.iter().find(|part| part.name == name).unwrap();
            let of_part: BTreeSet<&str> = part.columns.iter().map(|(column, _)| *column).collect();
            let of_table = columns_of(table, script);
            let unknown: Vec<_> = of_part.iter().filter(|column| !of_table.contains_key(**column)).copied().collect();
            assert_eq!(unknown, only_in_part, "{name} has columns that opora_{table} has not");
            let needed = of_table.iter().filter(|(_, is_needed)| **is_needed).map(|(column, _)| column.as_str());
            let missing: Vec<_> = needed.filter(|column| !of_part.contains(column)).collect();
            assert_eq!(missing, only_in_table, "{name} lacks columns that opora_{table} needs");
        }
    }
}
