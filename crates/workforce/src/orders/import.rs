//! Import of clients from a table: read, checked whole, and written in one commit.
//!
//! Nothing is written while a line has a mistake. A client is known by the phone and left as it is, so the same table
//! can be imported twice.

use std::collections::{HashMap, HashSet};

use sea_orm::sea_query::{ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Set};

use super::api::Orders;
use super::tables::client;
use super::{ActionError, Actor, clients, fields};
use crate::sites::import::{Mistake, MistakeKind, Table, TableReader};

/// The titles of the columns, in lower case.
const NAME: &[&str] = &["имя", "фио", "клиент", "name", "full name", "client"];
const PHONE: &[&str] = &["телефон", "phone"];
const NOTES: &[&str] = &["примечания", "комментарий", "notes", "comment"];

/// A client to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLine {
    pub line: u64,
    pub name: String,
    pub phone: String,
    pub notes: Option<String>,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportedClients {
    pub added: u64,
    /// Those that were known.
    pub unchanged: u64,
}

/// Reads lines of clients, or names every mistake.
pub fn read_clients(table: &Table) -> Result<Vec<ClientLine>, Vec<Mistake>> {
    let mut reader = TableReader::new(table, &[NAME, PHONE], &[NOTES]);
    let (mut lines, mut seen) = (Vec::new(), HashMap::new());
    for (line, cells) in &table.rows {
        let row = (*line, cells.as_slice());
        let name = reader.read(row, NAME, MistakeKind::ClientName, |text| fields::client_name(text).ok());
        let phone = reader.read(row, PHONE, MistakeKind::ClientPhone, |text| fields::phone(text).ok());
        let notes = reader.read_optional(row, NOTES, MistakeKind::ClientNotes, |text| fields::notes(text).ok());
        let (Some(name), Some(phone)) = (name, phone) else { continue };
        if seen.insert(phone.clone(), *line).is_some() {
            reader.mistake(*line, PHONE, phone, MistakeKind::Twice);
            continue;
        }
        lines.push(ClientLine { line: *line, name, phone, notes: notes.flatten() });
    }
    reader.finish(lines)
}

impl Orders {
    /// Whether each line is about a new client.
    pub async fn preview_clients(&self, lines: &[ClientLine]) -> Result<Vec<bool>, DbErr> {
        let known = known_phones(self.db(), lines).await?;
        Ok(lines.iter().map(|line| !known.contains(&line.phone)).collect())
    }

    /// Imports clients, for dispatchers and owners.
    pub async fn import_clients(&self, by: &Actor, lines: Vec<ClientLine>) -> Result<ImportedClients, ActionError> {
        self.write_as_staff(by, move |db, at| {
            Box::pin(async move {
                let known = known_phones(db, &lines).await?;
                let all = lines.len() as u64;
                let new = lines.into_iter().filter(|line| !known.contains(&line.phone));
                let rows = new.map(|line| client::ActiveModel {
                    phone_is_known: Set(true),
                    notes: Set(line.notes),
                    ..clients::row(&line.name, &line.phone, at)
                });
                let rows: Vec<_> = rows.collect();
                if rows.is_empty() {
                    return Ok(ImportedClients { added: 0, unchanged: all });
                }
                // Another commit may be adding the same client.
                let insert = client::Entity::insert_many(rows).on_conflict(OnConflict::new().do_nothing().to_owned());
                let added = insert.exec_without_returning(db).await?;
                Ok(ImportedClients { added, unchanged: all.saturating_sub(added) })
            })
        })
        .await
    }
}

async fn known_phones(db: &impl ConnectionTrait, lines: &[ClientLine]) -> Result<HashSet<String>, DbErr> {
    let known = client::Column::Phone.is_in(lines.iter().map(|line| line.phone.as_str()));
    let known = known.and(client::Column::PhoneIsKnown.eq(true));
    let phones: Vec<String> =
        client::Entity::find().select_only().column(client::Column::Phone).filter(known).into_tuple().all(db).await?;
    Ok(phones.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_line_is_named() {
        let text = "Name;Phone;Notes\nAnna Petrova;8 999 000-00-01;Ring twice\nAl;8 999 000-00-02;\n\
            Boris Berg;112;\nAnna Again;+79990000001;\nCarl Client;+49 30 901820;";
        let mistakes = read_clients(&Table::read(text).unwrap()).unwrap_err();
        let named: Vec<_> = mistakes.iter().map(|one| (one.line, one.kind)).collect();
        let expected = [
            (Some(3), MistakeKind::ClientName),
            (Some(4), MistakeKind::ClientPhone),
            (Some(5), MistakeKind::Twice),
            (Some(6), MistakeKind::ClientPhone),
        ];
        assert_eq!(named, expected);
        let no_phone = read_clients(&Table::read("name\nAnna Petrova").unwrap()).unwrap_err();
        assert_eq!(no_phone[0].kind, MistakeKind::NoColumn);
        let good = read_clients(&Table::read("ФИО;Телефон\nАнна Петрова;89990000001").unwrap()).unwrap();
        assert_eq!((good[0].phone.as_str(), good[0].line), ("+79990000001", 2));
    }
}
