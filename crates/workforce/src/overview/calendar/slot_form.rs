//! The form of a slot: its fields, and how they are read.

use chrono::NaiveDate;

use crate::money::Money;
use crate::sites::pages::read_hours;
use crate::sites::{AboutSlot, FIELD_HELP, Hours, Site};
use crate::texts::Language;
use crate::web::form::{FieldErrors, Fields, Reader, fields, time_of};

/// The form fields of a slot. Amounts are written as pages show them.
pub fn write_slot(about: &AboutSlot, language: Language) -> Fields {
    let mut typed = fields([
        ("title", about.title.clone()),
        ("day", about.day.to_string()),
        ("starts", time_of(about.hours.from_minute)),
        ("ends", time_of(about.hours.to_minute)),
        ("rate", about.rate_kopecks.map(|rate| amount(rate, language)).unwrap_or_default()),
        ("capacity", about.capacity.to_string()),
    ]);
    let ticks = [("penalises_lateness", about.penalises_lateness), ("ignores_site_tasks", about.ignores_site_tasks)];
    for (name, _) in ticks.iter().filter(|(_, is_ticked)| *is_ticked) {
        typed.insert((*name).to_owned(), "on".to_owned());
    }
    typed
}

/// `300`, `300,50` or `300.50`.
fn amount(kopecks: i64, language: Language) -> String {
    let text = Money::from_kopecks(kopecks).to_string();
    let text = text.strip_suffix(".00").unwrap_or(&text);
    match language {
        Language::Ru => text.replace('.', ","),
        Language::En => text.to_owned(),
    }
}

pub fn read_slot(typed: &Fields) -> Result<AboutSlot, FieldErrors> {
    let mut reader = Reader::new(typed);
    let about = AboutSlot {
        title: reader.clean_text("title"),
        day: reader.day("day"),
        hours: read_hours(&mut reader, "starts", "ends"),
        rate_kopecks: reader.optional_money("rate"),
        capacity: reader.number("capacity"),
        penalises_lateness: reader.tick("penalises_lateness"),
        ignores_site_tasks: reader.tick("ignores_site_tasks"),
    };
    let invalid = about.invalid_fields();
    reader.finish(about, &invalid, &FIELD_HELP)
}

/// The default values of a new slot.
pub fn usual(site: Option<&Site>, day: NaiveDate) -> AboutSlot {
    AboutSlot::usual(day, site.map_or(Hours::new(9 * 60, 18 * 60), |site| site.about.hours))
}

/// Reads the first and the last day.
pub fn read_days(typed: &Fields) -> Result<(NaiveDate, NaiveDate), FieldErrors> {
    let mut reader = Reader::new(typed);
    let days = (reader.day("from"), reader.day("to"));
    reader.bad.or(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_survives_its_form() {
        let mut about = usual(None, NaiveDate::from_ymd_opt(2026, 1, 31).unwrap());
        about.rate_kopecks = Some(5000);
        assert_eq!(write_slot(&about, Language::Ru)["rate"], "50");
        assert_eq!(read_slot(&write_slot(&about, Language::Ru)), Ok(about.clone()));
        about.rate_kopecks = Some(30_050);
        about.penalises_lateness = false;
        about.hours = Hours::new(22 * 60, 6 * 60);
        assert_eq!(write_slot(&about, Language::Ru)["rate"], "300,50");
        for language in Language::ALL {
            assert_eq!(read_slot(&write_slot(&about, language)), Ok(about.clone()));
        }
        assert_eq!(read_slot(&Fields::new()).unwrap_err().names(), ["day", "starts", "ends", "capacity"]);
    }
}
