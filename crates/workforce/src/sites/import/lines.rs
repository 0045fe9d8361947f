//! Lines of staff and of sites. Every mistake has its line and its column.

use std::collections::HashMap;

use chrono_tz::Tz;

use super::table::Table;
use crate::domain::user_text;
use crate::key;
use crate::money::Money;
use crate::person::{Role, contact};
use crate::sites::{AboutSite, Hours, Position, Site, is_price};
use crate::texts::Language;

/// What a table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportKind {
    Staff,
    Sites,
}

/// A person to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaffLine {
    pub line: u64,
    pub full_name: String,
    pub phone: Option<String>,
    pub telegram_id: i64,
    pub role: Role,
    /// Gives the person a contract for this site.
    pub site: Option<i64>,
    pub rate_kopecks: Option<i64>,
}

/// A site to import.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteLine {
    pub line: u64,
    pub about: AboutSite,
}

/// A mistake of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// None for a mistake of the head.
    pub line: Option<u64>,
    /// The title of the column.
    pub column: String,
    /// What was typed.
    pub typed: String,
    pub kind: MistakeKind,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MistakeKind {
    /// The table lacks a column that is needed.
    NoColumn,
    /// No such column is known.
    UnknownColumn,
    Name,
    Phone,
    TelegramId,
    Role,
    UnknownSite,
    Rate,
    Address,
    Position,
    TimeZone,
    Time,
    /// A client of orders.
    ClientName,
    ClientPhone,
    ClientNotes,
    /// The same person or site is in an earlier line.
    Twice,
}

impl MistakeKind {
    /// The text that says what to type.
    pub fn text(self, language: Language) -> String {
        language.text(match self {
            Self::NoColumn => key!("import-no-column"),
            Self::UnknownColumn => key!("import-unknown-column"),
            Self::Name => key!("import-bad-name"),
            Self::Phone => key!("import-bad-phone"),
            Self::TelegramId => key!("import-bad-telegram-id"),
            Self::Role => key!("import-bad-role"),
            Self::UnknownSite => key!("import-unknown-site"),
            Self::Rate => key!("import-bad-rate"),
            Self::Address => key!("import-bad-address"),
            Self::Position => key!("import-bad-position"),
            Self::TimeZone => key!("import-bad-time-zone"),
            Self::Time => key!("import-bad-time"),
            Self::ClientName => key!("orders-bad-name-short"),
            Self::ClientPhone => key!("orders-bad-phone"),
            Self::ClientNotes => key!("orders-bad-notes-long"),
            Self::Twice => key!("import-twice"),
        })
    }
}

/// A column: the titles that name it, in lower case. The first one is said in mistakes.
pub type Column = &'static [&'static str];

const PHONE: Column = &["телефон", "phone"];
const TELEGRAM: Column = &["telegram id", "telegram", "id telegram", "id в telegram", "телеграм"];
const ROLE: Column = &["роль", "role", "должность"];
const SITE: Column = &["объект", "site"];
const RATE: Column = &["ставка", "rate"];
const STAFF_NAME: Column = &["имя", "фио", "name", "full name", "сотрудник"];
const SITE_NAME: Column = &["название", "name", "объект", "site"];
const ADDRESS: Column = &["адрес", "address"];
const POSITION: Column = &["координаты", "position", "location", "coordinates"];
const ZONE: Column = &["часовой пояс", "zone", "time zone"];
const OPENS: Column = &["открытие", "opens"];
const CLOSES: Column = &["закрытие", "closes"];

/// Reads the cells of a table by column, and collects mistakes.
#[derive(Debug)]
pub struct TableReader<'a> {
    table: &'a Table,
    mistakes: Vec<Mistake>,
}

impl<'a> TableReader<'a> {
    /// Checks the head: needed columns are there, and every column is known.
    pub fn new(table: &'a Table, needed: &[Column], optional: &[Column]) -> Self {
        let mut reader = Self { table, mistakes: Vec::new() };
        for column in needed {
            if reader.place(column).is_none() {
                let (column, typed, kind) = (column[0].to_owned(), String::new(), MistakeKind::NoColumn);
                reader.mistakes.push(Mistake { line: None, column, typed, kind });
            }
        }
        let is_known = |title: &String| needed.iter().chain(optional).any(|column| column.contains(&title.as_str()));
        for title in table.head.iter().filter(|title| !is_known(title)) {
            let kind = MistakeKind::UnknownColumn;
            reader.mistakes.push(Mistake { line: None, column: title.clone(), typed: String::new(), kind });
        }
        reader
    }

    fn place(&self, column: Column) -> Option<usize> {
        self.table.head.iter().position(|title| column.contains(&title.as_str()))
    }

    fn text(&self, cells: &[String], column: Column) -> String {
        let cell = self.place(column).and_then(|place| cells.get(place));
        cell.map(|text| user_text::line(text)).unwrap_or_default()
    }

    /// A cell parsed by `read`; a mistake if that returns none.
    pub fn read<T>(
        &mut self,
        (line, cells): (u64, &[String]),
        column: Column,
        kind: MistakeKind,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let typed = self.text(cells, column);
        let value = read(&typed);
        if value.is_none() {
            self.mistake(line, column, typed, kind);
        }
        value
    }

    /// Like `read`, but none without a mistake for an empty cell.
    pub fn read_optional<T>(
        &mut self,
        (line, cells): (u64, &[String]),
        column: Column,
        kind: MistakeKind,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        if self.text(cells, column).is_empty() { None } else { self.read((line, cells), column, kind, read) }
    }

    /// Adds a mistake of a cell.
    pub fn mistake(&mut self, line: u64, column: Column, typed: String, kind: MistakeKind) {
        let title = self.place(column).map_or(column[0], |place| self.table.head[place].as_str()).to_owned();
        // The head says already that the column is missing.
        if self.place(column).is_some() {
            self.mistakes.push(Mistake { line: Some(line), column: title, typed, kind });
        }
    }

    /// The lines, if there is no mistake.
    pub fn finish<T>(self, lines: Vec<T>) -> Result<Vec<T>, Vec<Mistake>> {
        if self.mistakes.is_empty() { Ok(lines) } else { Err(self.mistakes) }
    }
}

/// Reads lines of staff. `sites` are those that contracts may name.
pub fn read_staff(table: &Table, sites: &[Site]) -> Result<Vec<StaffLine>, Vec<Mistake>> {
    let mut reader = TableReader::new(table, &[STAFF_NAME, TELEGRAM], &[PHONE, ROLE, SITE, RATE]);
    let (mut lines, mut seen) = (Vec::new(), HashMap::new());
    for (line, cells) in &table.rows {
        let row = (*line, cells.as_slice());
        let full_name = reader.read(row, STAFF_NAME, MistakeKind::Name, |text| contact::name(text).ok());
        let phone = reader.read_optional(row, PHONE, MistakeKind::Phone, contact::phone);
        let telegram_id = reader.read(row, TELEGRAM, MistakeKind::TelegramId, telegram_id);
        let role = reader.read(row, ROLE, MistakeKind::Role, role);
        let site = reader.read_optional(row, SITE, MistakeKind::UnknownSite, |name| site_id(sites, name));
        let rate = reader.read_optional(row, RATE, MistakeKind::Rate, price);
        if let Some(id) = telegram_id
            && seen.insert((id, site), *line).is_some()
        {
            reader.mistake(*line, TELEGRAM, id.to_string(), MistakeKind::Twice);
        }
        if let (Some(full_name), Some(telegram_id), Some(role)) = (full_name, telegram_id, role) {
            lines.push(StaffLine { line: *line, full_name, phone, telegram_id, role, site, rate_kopecks: rate });
        }
    }
    reader.finish(lines)
}

/// Reads lines of sites. A site without a zone is in the zone of the business.
pub fn read_sites(table: &Table, zone: Tz) -> Result<Vec<SiteLine>, Vec<Mistake>> {
    let mut reader = TableReader::new(table, &[SITE_NAME, ADDRESS], &[POSITION, ZONE, OPENS, CLOSES, RATE]);
    let (mut lines, mut seen) = (Vec::new(), HashMap::new());
    for (line, cells) in &table.rows {
        let row = (*line, cells.as_slice());
        let usual = AboutSite::usual(zone);
        let minute = |text: &str, usual: i64| if text.is_empty() { Some(usual) } else { minute_of(text) };
        let opens = reader.read(row, OPENS, MistakeKind::Time, |text| minute(text, usual.hours.from_minute));
        let closes = reader.read(row, CLOSES, MistakeKind::Time, |text| minute(text, usual.hours.to_minute));
        let about = AboutSite {
            name: reader.text(cells, SITE_NAME),
            address: reader.text(cells, ADDRESS),
            position: reader.read_optional(row, POSITION, MistakeKind::Position, position),
            time_zone: reader.read(row, ZONE, MistakeKind::TimeZone, |text| time_zone(text, zone)).unwrap_or(zone),
            hours: Hours::new(opens.unwrap_or_default(), closes.unwrap_or_default()),
            rate_kopecks: reader.read_optional(row, RATE, MistakeKind::Rate, price).unwrap_or(0),
            ..usual
        };
        let invalid = about.invalid_fields();
        for (field, column, kind) in
            [("name", SITE_NAME, MistakeKind::Name), ("address", ADDRESS, MistakeKind::Address)]
        {
            if invalid.contains(&field) {
                reader.mistake(*line, column, reader.text(cells, column), kind);
            }
        }
        if seen.insert(about.name.to_lowercase(), *line).is_some() {
            reader.mistake(*line, SITE_NAME, about.name.clone(), MistakeKind::Twice);
        }
        lines.push(SiteLine { line: *line, about });
    }
    reader.finish(lines)
}

fn telegram_id(text: &str) -> Option<i64> {
    text.parse().ok().filter(|id| (1..=1 << 52).contains(id))
}

/// A role by its name in either language; an employee if the cell is empty. Owners are made on the person's page.
fn role(text: &str) -> Option<Role> {
    let wanted = text.to_lowercase();
    if wanted.is_empty() {
        return Some(Role::Employee);
    }
    let is_named = |role: &Role| {
        let names = Language::ALL.map(|language| crate::person::role_name(*role, language).to_lowercase());
        role.name() == wanted || names.contains(&wanted)
    };
    [Role::Employee, Role::Master, Role::Dispatcher, Role::Manager].into_iter().find(is_named)
}

fn site_id(sites: &[Site], name: &str) -> Option<i64> {
    let name = name.to_lowercase();
    let mut found = sites.iter().filter(|site| site.about.name.to_lowercase() == name);
    match (found.next(), found.next()) {
        (Some(site), None) => Some(site.id),
        _ => None,
    }
}

fn price(text: &str) -> Option<i64> {
    text.parse::<Money>().ok().map(Money::kopecks).filter(|kopecks| is_price(*kopecks))
}

fn time_zone(text: &str, usual: Tz) -> Option<Tz> {
    if text.is_empty() { Some(usual) } else { text.parse().ok() }
}

/// `9:00` or `09:30` as minutes since midnight.
fn minute_of(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..24).contains(&hours) && (0..60).contains(&minutes)).then_some(hours * 60 + minutes)
}

/// `55.75, 37.61` or `55,75 37,61`.
fn position(text: &str) -> Option<Position> {
    let parts: Vec<&str> = text.split([' ', ';']).filter(|part| !part.is_empty()).collect();
    let number = |part: &str| part.trim_end_matches(',').replace(',', ".").parse::<f64>().ok();
    let (latitude, longitude) = match parts.as_slice() {
        [pair] => pair.split_once(',').and_then(|(one, two)| Some((number(one)?, number(two)?)))?,
        [one, two] => (number(one)?, number(two)?),
        _ => return None,
    };
    Some(Position { latitude, longitude }).filter(|position| position.is_on_earth())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(id: i64, name: &str) -> Site {
        let about = AboutSite { name: name.into(), address: "Street".into(), ..AboutSite::usual(Tz::UTC) };
        Site { id, about, deleted_at: None, version: 1 }
    }

    #[test]
    fn staff_is_read_in_both_languages() {
        let sites = [site(7, "Кофейня")];
        let russian = "ФИО;Телефон;Telegram ID;Роль;Объект;Ставка\nАнна Петрова;8 999 123-45-67;1001;;кофейня;350,50";
        let english = "name,phone,telegram,role,site,rate\nАнна Петрова,+79991234567,1001,employee,Кофейня,350.50";
        for text in [russian, english] {
            let lines = read_staff(&Table::read(text).unwrap(), &sites).unwrap();
            let expected = StaffLine {
                line: 2,
                full_name: "Анна Петрова".into(),
                phone: Some("+79991234567".into()),
                telegram_id: 1001,
                role: Role::Employee,
                site: Some(7),
                rate_kopecks: Some(35_050),
            };
            assert_eq!(lines, [expected]);
        }
    }

    #[test]
    fn every_mistake_has_its_line_and_column() {
        let text = "name,phone,telegram,role,site,rate,shoes\nA,call,,king,Bar,-5,\nAnna B,,1001,,,,\nAnna C,,1001,,,,";
        let mistakes = read_staff(&Table::read(text).unwrap(), &[]).unwrap_err();
        let shown: Vec<_> = mistakes.iter().map(|one| (one.line, one.column.as_str(), one.kind)).collect();
        assert_eq!(
            shown,
            [
                (None, "shoes", MistakeKind::UnknownColumn),
                (Some(2), "name", MistakeKind::Name),
                (Some(2), "phone", MistakeKind::Phone),
                (Some(2), "telegram", MistakeKind::TelegramId),
                (Some(2), "role", MistakeKind::Role),
                (Some(2), "site", MistakeKind::UnknownSite),
                (Some(2), "rate", MistakeKind::Rate),
                (Some(4), "telegram", MistakeKind::Twice),
            ]
        );
        let mistakes = read_staff(&Table::read("name\nAnna B").unwrap(), &[]).unwrap_err();
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        assert_eq!((mistakes[0].column.as_str(), mistakes[0].kind), ("telegram id", MistakeKind::NoColumn));
    }

    #[test]
    fn sites_have_defaults_and_positions() {
        let text = "name;address;position;zone;opens;closes;rate\nShop;Street 1;55,75 37,61;Europe/Berlin;8:00;20:00;300\nBar;Street 2;;;;;";
        let lines = read_sites(&Table::read(text).unwrap(), chrono_tz::Europe::Moscow).unwrap();
        let shop = &lines[0].about;
        assert_eq!(shop.position, Some(Position { latitude: 55.75, longitude: 37.61 }));
        assert_eq!(
            (shop.time_zone, shop.hours, shop.rate_kopecks),
            (chrono_tz::Europe::Berlin, Hours::new(480, 1200), 30_000)
        );
        let bar = &lines[1].about;
        assert_eq!((bar.time_zone, bar.position), (chrono_tz::Europe::Moscow, None));
        let text = "name;address;position;zone;opens\n;Street;95 37;Moscow;25:00\nBar;;;;\nbar;Street;;;";
        let mistakes = read_sites(&Table::read(text).unwrap(), Tz::UTC).unwrap_err();
        let kinds: Vec<_> = mistakes.iter().map(|one| (one.line.unwrap_or(0), one.kind)).collect();
        use MistakeKind::{Address, Name, Position as Place, Time, TimeZone, Twice};
        assert_eq!(kinds, [(2, Time), (2, Place), (2, TimeZone), (2, Name), (3, Address), (4, Twice)]);
    }
}
