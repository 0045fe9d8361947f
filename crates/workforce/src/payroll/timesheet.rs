//! The timesheet of a month: paid hours of each person by day and site, as CSV and XLSX.
//!
//! A shift belongs to the day on which it started, by its site's clock. Texts of people never become formulas; see
//! [`super::export`].

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chrono::{Datelike, NaiveDate};
use rust_xlsxwriter::{Format, Workbook, Worksheet, XlsxError};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect};

use super::export::{BYTE_ORDER_MARK, quoted, separators, without_formula};
use super::ledger::bigint_sum;
use super::tables::adjustment;
use super::{Kind, PaidHours, Payroll, PayrollMonth};
use crate::application::App;
use crate::domain::in_ids;
use crate::money::day_of;
use crate::sites::Sites;
use crate::text;
use crate::texts::Language;

const NAME_WIDTH: f64 = 32.0;
const DAY_WIDTH: f64 = 6.5;
const SUM_WIDTH: f64 = 10.0;
/// The longest name of a worksheet.
const MAX_SHEET_NAME: usize = 31;
/// Characters that the name of a worksheet must not have.
const BAD_IN_SHEET_NAME: [char; 7] = ['[', ']', ':', '*', '?', '/', '\\'];

/// Hours in hundredths by day of the month.
type DayHours = BTreeMap<u32, i64>;

/// The hours of a month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timesheet {
    pub period: PayrollMonth,
    /// The names of the sites with hours, sorted.
    sites: Vec<String>,
    /// Sorted by name.
    people: Vec<PersonHours>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PersonHours {
    name: String,
    /// By the position of the site in [`Timesheet::sites`].
    by_site: BTreeMap<usize, DayHours>,
}

/// The hours of a person at a site on a day: person, site, day, hundredths.
type HoursRow = (i64, Option<i64>, String, i64);

impl Timesheet {
    /// The timesheet of a month at these sites; at all of them for None.
    pub async fn of_month(app: &App, period: PayrollMonth, sites: Option<&[i64]>) -> Result<Self, DbErr> {
        let rows = app.payroll.hours_by_day(period, sites).await?;
        let ids: BTreeSet<i64> = rows.iter().filter_map(|row| row.1).collect();
        let found = Sites::of_app(app).with_ids(&ids.into_iter().collect::<Vec<_>>()).await?;
        let mut found: Vec<(i64, String)> = found.into_iter().map(|site| (site.id, site.about.name)).collect();
        found.sort_by(|one, other| (&one.1, one.0).cmp(&(&other.1, other.0)));
        let places: BTreeMap<i64, usize> = found.iter().enumerate().map(|(place, (id, _))| (*id, place)).collect();
        let names = app.people.names(rows.iter().map(|row| row.0).collect::<BTreeSet<_>>()).await?;
        let mut people: BTreeMap<i64, PersonHours> = BTreeMap::new();
        for (user_id, site_id, day, hundredths) in rows {
            let place = site_id.and_then(|id| places.get(&id).copied());
            let (Some(place), Some(day)) = (place, day_of(&day)) else { continue };
            let name = || names.get(&user_id).cloned().unwrap_or_else(|| "–".to_owned());
            let person =
                people.entry(user_id).or_insert_with(|| PersonHours { name: name(), by_site: BTreeMap::new() });
            *person.by_site.entry(place).or_default().entry(day.day()).or_default() += hundredths;
        }
        let mut people: Vec<PersonHours> = people.into_values().collect();
        people.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self { period, sites: found.into_iter().map(|(_, name)| name).collect(), people })
    }

    /// The timesheet as CSV: a row for each person and site, a sum for people with several sites, and the sum of all.
    pub fn csv(&self, language: Language) -> String {
        let (separator, point) = separators(language);
        let mut text = String::from(BYTE_ORDER_MARK);
        let mut push = |cells: Vec<String>| {
            text.push_str(&cells.join(separator));
            text.push_str("\r\n");
        };
        let mut header = vec![quoted(&text!(language, "payroll-person")), quoted(&text!(language, "cabinet-site"))];
        header.extend(self.days().map(|day| day.to_string()));
        header.push(quoted(&text!(language, "payroll-sum")));
        push(header);
        let all_sites = text!(language, "cabinet-all-sites");
        let row = |name: &str, site: &str, hours: &DayHours| {
            let number = |hundredths: i64| PaidHours::from_hundredths(hundredths).to_string().replace('.', point);
            let mut cells = vec![quoted(&without_formula(name)), quoted(&without_formula(site))];
            cells.extend(self.days().map(|day| hours.get(&day).map_or_else(String::new, |hours| number(*hours))));
            cells.push(number(hours.values().sum()));
            cells
        };
        for person in &self.people {
            for (place, hours) in &person.by_site {
                push(row(&person.name, self.sites.get(*place).map_or("–", String::as_str), hours));
            }
            if person.by_site.len() > 1 {
                push(row(&person.name, &all_sites, &summed(person.by_site.values())));
            }
        }
        push(row(&text!(language, "payroll-sum"), &all_sites, &self.sum()));
        text
    }

    /// The timesheet as a workbook: a sheet with all sites, and one for each site.
    pub fn xlsx(&self, language: Language) -> Result<Vec<u8>, XlsxError> {
        let mut workbook = Workbook::new();
        let mut names = SheetNames::default();
        let everybody = self.people.iter().map(|person| (person.name.as_str(), summed(person.by_site.values())));
        let all_sites = names.unique(&text!(language, "cabinet-all-sites"));
        self.write_sheet(workbook.add_worksheet(), &all_sites, everybody.collect(), language)?;
        for (place, site) in self.sites.iter().enumerate() {
            let of_site = |person: &PersonHours| person.by_site.get(&place).cloned();
            let people = self.people.iter().filter_map(|person| Some((person.name.as_str(), of_site(person)?)));
            self.write_sheet(workbook.add_worksheet(), &names.unique(site), people.collect(), language)?;
        }
        workbook.save_to_buffer()
    }

    fn write_sheet(
        &self,
        sheet: &mut Worksheet,
        name: &str,
        people: Vec<(&str, DayHours)>,
        language: Language,
    ) -> Result<(), XlsxError> {
        let (bold, number) = (Format::new().set_bold(), Format::new().set_num_format("0.00"));
        let bold_number = Format::new().set_num_format("0.00").set_bold();
        let last = u16::try_from(self.period.last_day().day()).unwrap_or_default() + 1;
        sheet.set_name(name)?;
        sheet.set_freeze_panes(1, 1)?;
        sheet.set_column_width(0, NAME_WIDTH)?;
        sheet.write_string_with_format(0, 0, text!(language, "payroll-person"), &bold)?;
        for (column, day) in (1..).zip(self.days()) {
            sheet.write_number_with_format(0, column, day, &bold)?;
            sheet.set_column_width(column, DAY_WIDTH)?;
        }
        sheet.write_string_with_format(0, last, text!(language, "payroll-sum"), &bold)?;
        sheet.set_column_width(last, SUM_WIDTH)?;
        let sum = (text!(language, "payroll-sum"), summed(people.iter().map(|(_, hours)| hours)));
        let rows = people.into_iter().map(|(name, hours)| (name.to_owned(), hours, &number));
        for (row, (name, hours, format)) in (1..).zip(rows.chain([(sum.0, sum.1, &bold_number)])) {
            sheet.write_string(row, 0, name)?;
            for (column, day) in (1..).zip(self.days()) {
                if let Some(hundredths) = hours.get(&day) {
                    sheet.write_number_with_format(row, column, *hundredths as f64 / 100.0, format)?;
                }
            }
            let total: i64 = hours.values().sum();
            sheet.write_number_with_format(row, last, total as f64 / 100.0, &bold_number)?;
        }
        Ok(())
    }

    /// The days of the month.
    fn days(&self) -> impl Iterator<Item = u32> + use<> {
        1..=self.period.last_day().day()
    }

    fn sum(&self) -> DayHours {
        summed(self.people.iter().flat_map(|person| person.by_site.values()))
    }
}

impl Payroll {
    /// The paid hours by person, site and day of a month.
    async fn hours_by_day(&self, period: PayrollMonth, sites: Option<&[i64]>) -> Result<Vec<HoursRow>, DbErr> {
        let text = |day: NaiveDate| day.to_string();
        let mut rows = adjustment::Entity::find()
            .filter(adjustment::Column::Day.between(text(period.first_day()), text(period.last_day())))
            .filter(adjustment::Column::Kind.eq(Kind::ShiftBase.name()))
            .filter(adjustment::Column::DeletedAt.is_null());
        if let Some(sites) = sites {
            rows = rows.filter(in_ids(adjustment::Column::SiteId, sites));
        }
        let columns = [adjustment::Column::UserId, adjustment::Column::SiteId, adjustment::Column::Day];
        let rows = rows.select_only().columns(columns).column_as(bigint_sum("hours_hundredths"), "hours");
        let rows = columns.into_iter().fold(rows, QuerySelect::group_by);
        rows.into_tuple().all(self.domain.read()).await
    }
}

fn summed<'a>(all: impl IntoIterator<Item = &'a DayHours>) -> DayHours {
    let mut sum = DayHours::new();
    for (day, hundredths) in all.into_iter().flatten() {
        *sum.entry(*day).or_default() += hundredths;
    }
    sum
}

/// Names of worksheets: short, without forbidden characters, each once.
#[derive(Debug, Default)]
struct SheetNames {
    taken: HashSet<String>,
}

impl SheetNames {
    fn unique(&mut self, wanted: &str) -> String {
        let clean: String = wanted.chars().map(|c| if BAD_IN_SHEET_NAME.contains(&c) { ' ' } else { c }).collect();
        let clean = clean.trim_matches(is_no_edge);
        let clean = if clean.is_empty() { "–" } else { clean };
        for number in 1.. {
            let ending = if number == 1 { String::new() } else { format!(" ({number})") };
            let name = format!("{}{ending}", shortened(clean, MAX_SHEET_NAME - ending.len()));
            // Spreadsheets compare names without case.
            if self.taken.insert(name.to_lowercase()) {
                return name;
            }
        }
        clean.to_owned()
    }
}

/// The first characters of a text that fit this many UTF-16 units.
fn shortened(text: &str, max_units: usize) -> String {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= max_units
    };
    text.chars().take_while(fits).collect::<String>().trim_end_matches(is_no_edge).to_owned()
}

/// Whether the name of a sheet may not begin or end with this.
fn is_no_edge(c: char) -> bool {
    c == '\'' || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(days: &[(u32, i64)]) -> DayHours {
        days.iter().copied().collect()
    }

    fn timesheet(name: &str, site: &str) -> Timesheet {
        let by_site = BTreeMap::from([(0, hours(&[(1, 750), (28, 25)])), (1, hours(&[(1, 100)]))]);
        let anna = PersonHours { name: name.to_owned(), by_site };
        let zoe = PersonHours { name: "Zoe".into(), by_site: BTreeMap::from([(1, hours(&[(2, 800)]))]) };
        let period = "2026-02".parse().unwrap();
        Timesheet { period, sites: vec![site.to_owned(), "Warehouse".into()], people: vec![anna, zoe] }
    }

    #[test]
    fn a_file_has_days_sites_and_sums() {
        let written = timesheet("Anna", "Shop").csv(Language::En);
        let lines: Vec<&str> = written.lines().collect();
        let empty = ",".repeat(26);
        assert!(lines[0].ends_with(",27,28,\"Total\""), "{}", lines[0]);
        assert_eq!(lines[1], format!("\"Anna\",\"Shop\",7.50,{empty}0.25,7.75").replacen(&empty, &",".repeat(26), 1));
        assert_eq!(lines[2], format!("\"Anna\",\"Warehouse\",1.00{},1.00", ",".repeat(27)));
        assert!(
            lines[3].starts_with("\"Anna\",\"All sites\",8.50,") && lines[3].ends_with("0.25,8.75"),
            "{}",
            lines[3]
        );
        assert!(lines[4].starts_with("\"Zoe\",\"Warehouse\",,8.00,"), "{}", lines[4]);
        assert!(
            lines[5].starts_with("\"Total\",\"All sites\",8.50,8.00,") && lines[5].ends_with(",16.75"),
            "{}",
            lines[5]
        );
        assert_eq!(lines.len(), 6);
        let russian = timesheet("Анна", "Магазин").csv(Language::Ru);
        assert!(russian.contains("\"Анна\";\"Магазин\";7,50;"), "{russian}");
    }

    #[test]
    fn neither_a_name_nor_a_site_becomes_a_formula() {
        for text in ["=1+1", "+7", "-2", "@SUM(A1)", "\tx", " =A1"] {
            let written = timesheet(text, text).csv(Language::En);
            assert!(written.lines().nth(1).unwrap().starts_with(&format!("\"'{text}\",\"'{text}\",")), "{written}");
        }
        let bytes = timesheet("=1+1", "=cmd|A1").xlsx(Language::En).unwrap();
        let mut workbook = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        let mut read = |name: &str| {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut workbook.by_name(name).unwrap(), &mut text).unwrap();
            text
        };
        assert!(!read("xl/worksheets/sheet1.xml").contains("<f>"));
        assert!(read("xl/sharedStrings.xml").contains("<t>=1+1</t>"));
    }

    #[test]
    fn every_site_has_a_sheet_with_a_valid_name() {
        let mut names = SheetNames::default();
        assert_eq!(names.unique("Shop"), "Shop");
        assert_eq!(names.unique("shop"), "shop (2)");
        assert_eq!(names.unique("A/B: [1]*?\\"), "A B   1");
        assert_eq!(names.unique("''"), "–");
        assert_eq!(names.unique("'/'Cafe' '"), "Cafe");
        let long = names.unique(&"я".repeat(40));
        assert_eq!(long.encode_utf16().count(), MAX_SHEET_NAME);
        assert_eq!(names.unique(&"я".repeat(50)).encode_utf16().count(), MAX_SHEET_NAME);
        timesheet("Anna", "History").xlsx(Language::En).unwrap();
        timesheet("Anna", "All sites").xlsx(Language::En).unwrap();
    }
}
