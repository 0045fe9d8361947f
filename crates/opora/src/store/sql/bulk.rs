//! What a group writes: for each table the rows of all its operations.
//!
//! The list of parts says which columns rows have, and in which order. Both databases read rows by it, and write rows by it
//! where a row goes to its table unchanged. The order of values is the caller's: `plan`, `Bulk::change` and `Bulk::keep` add
//! tuples. Statements that change a row or write only some columns, as those for conversations, name these themselves.

use serde::Serialize;

use super::failure::GroupFailed;
use super::rows::Rows;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Stored, Version};

/// The unit by which ends of life are indexed.
const MINUTE_MS: i64 = 60_000;

/// Rows to which the same happens, and their columns.
#[derive(Clone, Debug)]
pub(in crate::store) struct Part {
    pub(in crate::store) name: &'static str,
    columns: &'static [(&'static str, Kind)],
    rows: Rows,
}

/// What a column holds.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) enum Kind {
    Number,
    Text,
}

impl Part {
    pub(in crate::store) fn new(name: &'static str, columns: &'static [(&'static str, Kind)], rows: Rows) -> Self {
        Self { name, columns, rows }
    }

    /// Adds a row: a tuple of its columns in their order, or the value of the only one.
    pub(in crate::store) fn add(&mut self, row: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        self.rows.add(row)
    }

    pub(in crate::store) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(in crate::store) fn into_rows(self) -> Rows {
        self.rows
    }

    /// Takes the rows out.
    pub(in crate::store) fn take(&mut self) -> Self {
        Self { rows: std::mem::take(&mut self.rows), ..*self }
    }

    /// The names of its columns, as a statement lists them.
    pub(in crate::store) fn columns(&self) -> String {
        self.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    }

    /// The same with what each is read from; `read` is told its place in a row, or none if it is the only one.
    pub(in crate::store) fn selected(&self, read: impl Fn(Option<usize>, Kind) -> String) -> String {
        let place = |place| (self.columns.len() > 1).then_some(place);
        let column = |(at, (name, kind)): (usize, &(&str, Kind))| format!("{} AS \"{name}\"", read(place(at), *kind));
        self.columns.iter().enumerate().map(column).collect::<Vec<_>>().join(", ")
    }
}

macro_rules! parts {
    ($($($(#[$about:meta])* $part:ident),+: $($column:ident $kind:ident),+;)+) => {
        /// Rows by what happens to them.
        #[derive(Debug)]
        pub(in crate::store) struct Bulk {
            $($($(#[$about])* pub(in crate::store) $part: Part,)+)+
        }

        impl Default for Bulk {
            fn default() -> Self {
                $(
                    let columns = &[$((stringify!($column), Kind::$kind)),+];
                    $(let $part = Part::new(stringify!($part), columns, Rows::default());)+
                )+
                Self { $($($part),+),+ }
            }
        }

        impl Bulk {
            /// All of them, in the order of the list.
            pub(in crate::store) fn into_parts(self) -> Vec<Part> {
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
    /// Inputs that any instance delivers: another one may deliver the same at the same time.
    delivered:
        seq Number, bot Number, key Text, update_id Number, identity Text, effect Number, body Text, at Number;
    /// Of those once more.
    delivered_places: seq Number;
    /// The last place in the inbox that was given, for a store that counts them in a row of its own.
    last_place: last Number;
    /// Inputs that may be there, also since a moment ago.
    fresh_gone: bot Number, update_id Number, identity Text;
    changed: key Text, bot Number, chat Number, user Number, thread Number, business Text, version Number, value Text,
        places Text, dialogue Text, state Text, expires_at Number, updated_at Number, from_version Number,
        expires_minute Number;
    /// Conversations whose state stays.
    kept: key Text, bot Number, chat Number, user Number, thread Number, business Text, version Number,
        updated_at Number, from_version Number;
    /// Of conversations that changed once more, for a store that writes it apart.
    expiry: key Text, expires_minute Number;
    outbox: id Number, bot Number, key Text, chat Number, method Text, body Text, rest Text, at Number;
    posts: once Text, bot Number, at Number;
    sending: id Number;
    /// What surely was not sent.
    not_sent: id Number;
    failed: id Number, reason Text;
    /// What was sent and what failed.
    unsent_gone: id Number;
    labels: bot Number, chat Number, label Text, message Number, at Number;
    /// Messages from one on follow a chat that became another one.
    moved: bot Number, first Number, from_chat Number, to_chat Number;
    timers_gone: id Number;
    /// Timers that are not set anew.
    timers_cancelled: key Text, name Text;
    /// Each replaces one of its name.
    timers: id Number, bot Number, key Text, name Text, due_at Number, body Text;
    effects_gone: id Number;
    effects: id Number, bot Number, key Text, kind Text, body Text, at Number;
    transitions: id Number, bot Number, key Text, version Number, at Number, from_place Text, to_place Text,
        cause Text, took_us Number;
    parked_gone: id Number;
    parked: id Number, bot Number, key Text, kind Text, body Text, reason Text, attempts Number, at Number,
        retry Number;
}

impl Bulk {
    /// Adds a conversation with its new state, or none.
    pub(in crate::store) fn change(
        &mut self,
        text: &str,
        key: &DialogueKey,
        (from, version): (Version, Version),
        stored: Option<&Stored>,
        updated_at: Millis,
    ) -> Result<(), GroupFailed> {
        let DialogueKey { bot, chat, user, thread, business } = key;
        let places = stored.map_or(Ok("[]".to_owned()), |stored| serde_json::to_string(&stored.places))?;
        let foreground = stored.and_then(|stored| stored.places.first());
        let dialogue = foreground.map(|place| &place.dialogue);
        let state = foreground.map(|place| &place.state);
        let value = stored.map(|stored| &stored.value);
        let expires_at = stored.and_then(|stored| stored.expires_at);
        let minute = expires_at.map(|at| at.0.div_euclid(MINUTE_MS));
        self.changed.add(&(
            text, bot, chat, user, thread, business, version, value, places, dialogue, state, expires_at, updated_at,
            from, minute,
        ))?;
        Ok(self.expiry.add(&(text, minute))?)
    }

    /// Adds a conversation whose state stays.
    pub(in crate::store) fn keep(
        &mut self,
        text: &str,
        key: &DialogueKey,
        (from, version): (Version, Version),
        updated_at: Millis,
    ) -> Result<(), GroupFailed> {
        let DialogueKey { bot, chat, user, thread, business } = key;
        Ok(self.kept.add(&(text, bot, chat, user, thread, business, version, updated_at, from))?)
    }
}

#[cfg(test)]
pub(in crate::store) mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Parts and their tables; the columns that only the part has, and those that a row needs and the part has not.
    const TABLES: [(&str, &str, &[&str], &[&str]); 12] = [
        ("marks", "marks", &[], &[]),
        ("inputs", "inbox", &[], &[]),
        ("delivered", "inbox", &[], &[]),
        ("changed", "conversations", &["from_version"], &[]),
        ("kept", "conversations", &["from_version"], &["places"]),
        ("outbox", "outbox", &[], &[]),
        ("posts", "posts", &[], &[]),
        ("labels", "labels", &[], &[]),
        ("timers", "timers", &[], &[]),
        ("effects", "effects", &[], &[]),
        ("transitions", "transitions", &[], &[]),
        ("parked", "parked", &[], &[]),
    ];

    /// The columns of a table by the script that makes it, each with whether a row needs it.
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

    /// Checks that the list of parts fits the tables that a script makes.
    pub(in crate::store) fn fits(script: &str) {
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
