//! What the chat page shows beside the messages: ready-made places, notes on people, links and a tour.
//!
//! A program that embeds the emulator, a test or a script fills them for its bot. Bots never see them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const MAX_PLACES: usize = 50;
const MAX_PEOPLE: usize = 1000;
const MAX_LINKS: usize = 10;
const MAX_STEPS: usize = 20;
const MAX_TEXT: usize = 500;

/// The hints of one bot. Setting them replaces all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hints {
    /// Offered first when a person shares a location.
    pub places: Vec<Place>,
    /// Shown beside the name in the list of chats.
    pub people: Vec<PersonNote>,
    /// Shown above the list of chats.
    pub links: Vec<Link>,
    /// Shown one after another below the list of chats, until the tour is closed.
    pub tour: Vec<TourStep>,
}

/// A place by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub name: Text,
    pub latitude: f64,
    pub longitude: f64,
}

/// A few words about a person, such as a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonNote {
    pub id: i64,
    pub note: Text,
}

/// A link to another page: a path of the same server, or an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub text: Text,
    pub url: String,
}

/// A step of the tour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TourStep {
    pub title: Text,
    pub text: Text,
    /// The chat that the step is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
}

/// A text in any language, or one for each language of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    Plain(String),
    ByLanguage(BTreeMap<String, String>),
}

impl Text {
    /// A text in both languages of the page.
    pub fn ru_en(russian: impl Into<String>, english: impl Into<String>) -> Self {
        Self::ByLanguage([("ru".to_owned(), russian.into()), ("en".to_owned(), english.into())].into())
    }

    fn fits(&self) -> bool {
        let fits = |text: &str| !text.trim().is_empty() && text.chars().count() <= MAX_TEXT;
        match self {
            Self::Plain(text) => fits(text),
            Self::ByLanguage(texts) => !texts.is_empty() && texts.len() <= 10 && texts.values().all(|text| fits(text)),
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Plain(text)
    }
}

impl Link {
    /// Only paths and web addresses: the page must not run a link as a script.
    fn fits(&self) -> bool {
        let is_path = self.url.starts_with('/') && !self.url.starts_with("//");
        let is_address = self.url.starts_with("http://") || self.url.starts_with("https://");
        (is_path || is_address) && self.url.len() <= MAX_TEXT && self.text.fits()
    }
}

impl Hints {
    /// What is wrong with them, if anything.
    pub fn problem(&self) -> Option<&'static str> {
        let is_on_earth = |place: &Place| place.latitude.abs() <= 90.0 && place.longitude.abs() <= 180.0;
        let too_many = self.places.len() > MAX_PLACES
            || self.people.len() > MAX_PEOPLE
            || self.links.len() > MAX_LINKS
            || self.tour.len() > MAX_STEPS;
        if too_many {
            Some("at most 50 places, 1000 people, 10 links and 20 steps of the tour")
        } else if !self.texts().all(Text::fits) {
            Some("a text must have 1 to 500 characters")
        } else if !self.places.iter().all(is_on_earth) {
            Some("latitude must be from -90 to 90, longitude from -180 to 180")
        } else if !self.links.iter().chain(self.tour.iter().filter_map(|step| step.link.as_ref())).all(Link::fits) {
            Some("a link must be a path such as /people, or begin with http:// or https://")
        } else {
            None
        }
    }

    fn texts(&self) -> impl Iterator<Item = &Text> {
        let places = self.places.iter().map(|place| &place.name);
        let people = self.people.iter().map(|person| &person.note);
        let steps = self.tour.iter().flat_map(|step| [&step.title, &step.text]);
        places.chain(people).chain(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_cannot_be_a_script() {
        for (url, fits) in [
            ("/people", true),
            ("https://example.org", true),
            ("javascript:alert(1)", false),
            ("//elsewhere.example", false),
            ("data:text/html,x", false),
        ] {
            let links = vec![Link { text: "There".to_owned().into(), url: url.to_owned() }];
            assert_eq!(Hints { links, ..Hints::default() }.problem().is_none(), fits, "{url}");
        }
    }

    #[test]
    fn texts_and_positions_have_bounds() {
        let place = |name: &str, latitude| Place { name: name.to_owned().into(), latitude, longitude: 0.0 };
        for (place, fits) in [
            (place("Depot", 55.0), true),
            (place(" ", 55.0), false),
            (place(&"x".repeat(501), 55.0), false),
            (place("Depot", 91.0), false),
            (place("Depot", f64::NAN), false),
        ] {
            assert_eq!(Hints { places: vec![place], ..Hints::default() }.problem().is_none(), fits);
        }
    }
}
