//! Time zones as people know them: by city, by difference to Moscow, or by their IANA name.
//!
//! The zones of Russia come first and have names in both languages. Other zones are known by their IANA names.

use chrono_tz::{TZ_VARIANTS, Tz};
use maud::{Markup, html};

use crate::key;
use crate::texts::Language;

/// The id of the list of suggestions.
pub const LIST: &str = "time-zones";

/// Moscow's difference to UTC, in hours.
const MOSCOW_HOURS: i32 = 3;

/// A zone with a name of its own.
struct NamedZone {
    zone: Tz,
    /// Hours ahead of UTC. Russia has no summer time.
    hours: i32,
    name: &'static str,
    /// Other cities with this time, in lower case.
    cities: &'static [&'static str],
}

const fn named(zone: Tz, hours: i32, name: &'static str, cities: &'static [&'static str]) -> NamedZone {
    NamedZone { zone, hours, name, cities }
}

const NAMED: [NamedZone; 11] = [
    named(Tz::Europe__Kaliningrad, 2, key!("zone-kaliningrad"), &[]),
    named(
        Tz::Europe__Moscow,
        3,
        key!("zone-moscow"),
        &[
            "мск",
            "msk",
            "спб",
            "питер",
            "санкт-петербург",
            "saint petersburg",
            "st petersburg",
            "казань",
            "kazan",
            "нижний новгород",
            "ростов-на-дону",
            "краснодар",
            "сочи",
            "воронеж",
            "волгоград",
        ],
    ),
    named(Tz::Europe__Samara, 4, key!("zone-samara"), &["тольятти", "ижевск", "саратов", "ульяновск"]),
    named(Tz::Asia__Yekaterinburg, 5, key!("zone-yekaterinburg"), &["пермь", "челябинск", "уфа", "тюмень", "оренбург"]),
    named(Tz::Asia__Omsk, 6, key!("zone-omsk"), &[]),
    named(
        Tz::Asia__Krasnoyarsk,
        7,
        key!("zone-krasnoyarsk"),
        &["новосибирск", "томск", "барнаул", "кемерово", "новокузнецк"],
    ),
    named(Tz::Asia__Irkutsk, 8, key!("zone-irkutsk"), &["улан-удэ"]),
    named(Tz::Asia__Yakutsk, 9, key!("zone-yakutsk"), &["чита", "благовещенск"]),
    named(Tz::Asia__Vladivostok, 10, key!("zone-vladivostok"), &["хабаровск"]),
    named(Tz::Asia__Magadan, 11, key!("zone-magadan"), &["южно-сахалинск"]),
    named(Tz::Asia__Kamchatka, 12, key!("zone-kamchatka"), &["камчатка", "петропавловск-камчатский"]),
];

/// The zone that a person means by `Europe/Moscow`, `Москва`, `new york`, `МСК+2` or `UTC+5`.
pub fn parse(typed: &str) -> Option<Tz> {
    let text = typed.trim().to_lowercase().replace('ё', "е");
    // A person may also copy the label: `Москва (UTC+3)`.
    let text = text.split_once(" (").map_or(text.as_str(), |(name, _)| name).trim();
    let has_name = |zone: &&NamedZone| {
        zone.cities.contains(&text)
            || Language::ALL.iter().any(|language| language.text(zone.name).to_lowercase() == text)
    };
    let by_name = || NAMED.iter().find(has_name).map(|zone| zone.zone);
    let by_offset =
        || offset(text).and_then(|hours| NAMED.iter().find(|zone| zone.hours == hours)).map(|zone| zone.zone);
    let iana = text.replace(' ', "_");
    let by_iana = || TZ_VARIANTS.iter().copied().find(|zone| zone.name().eq_ignore_ascii_case(&iana));
    let by_city = || TZ_VARIANTS.iter().copied().find(|zone| is_city(zone.name(), &iana));
    if text.is_empty() { None } else { by_name().or_else(by_offset).or_else(by_iana).or_else(by_city) }
}

/// The zone as people read it: `Москва (UTC+3)`, or its IANA name.
pub fn shown(zone: Tz, language: Language) -> String {
    match NAMED.iter().find(|one| one.zone == zone) {
        Some(one) => label(one, language),
        None => zone.name().to_owned(),
    }
}

/// Suggestions for a field, the zones of Russia first.
pub fn datalist(language: Language) -> Markup {
    let is_other = |zone: &&Tz| zone.name().contains('/') && NAMED.iter().all(|one| one.zone != **zone);
    html! {
        datalist id=(LIST) {
            @for one in &NAMED { option value=(one.zone.name()) { (label(one, language)) } }
            @for zone in TZ_VARIANTS.iter().filter(is_other) { option value=(zone.name()); }
        }
    }
}

fn label(zone: &NamedZone, language: Language) -> String {
    format!("{} (UTC+{})", language.text(zone.name), zone.hours)
}

/// Hours ahead of UTC, from `utc+5`, `gmt+5`, `мск+2` or `msk-1`.
fn offset(text: &str) -> Option<i32> {
    let bases = [("utc", 0), ("gmt", 0), ("мск", MOSCOW_HOURS), ("msk", MOSCOW_HOURS)];
    let (rest, base) = bases.iter().find_map(|(name, base)| Some((text.strip_prefix(name)?, *base)))?;
    let rest = rest.replace(' ', "").replace('−', "-");
    let hours: i32 = rest.strip_prefix('+').unwrap_or(&rest).parse().ok()?;
    hours.checked_add(base)
}

fn is_city(name: &str, city: &str) -> bool {
    name.rsplit_once('/').is_some_and(|(_, last)| last.eq_ignore_ascii_case(city))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_zone_is_known_by_its_names() {
        for (typed, zone) in [
            ("Europe/Moscow", Tz::Europe__Moscow),
            ("europe/moscow ", Tz::Europe__Moscow),
            ("Москва", Tz::Europe__Moscow),
            ("москва (UTC+3)", Tz::Europe__Moscow),
            ("МСК", Tz::Europe__Moscow),
            ("мск+2", Tz::Asia__Yekaterinburg),
            ("MSK-1", Tz::Europe__Kaliningrad),
            ("UTC+10", Tz::Asia__Vladivostok),
            ("Moscow", Tz::Europe__Moscow),
            ("Новосибирск", Tz::Asia__Krasnoyarsk),
            ("New York", Tz::America__New_York),
            ("Asia/Almaty", Tz::Asia__Almaty),
            ("UTC", Tz::UTC),
        ] {
            assert_eq!(parse(typed), Some(zone), "{typed}");
        }
        for typed in ["", " ", "Атлантида", "UTC+99", "мск+", "Europe/", "/"] {
            assert_eq!(parse(typed), None, "{typed}");
        }
    }

    #[test]
    fn shown_zones_are_understood_again() {
        for zone in TZ_VARIANTS.iter().filter(|zone| zone.name().contains('/')) {
            for language in Language::ALL {
                assert_eq!(parse(&shown(*zone, language)), Some(*zone));
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }
    }
}
