//! Forms that lose nothing: what was typed stays, what is wrong is marked, and what somebody else has changed meanwhile is
//! shown beside it, with a way to save on top of that.
//!
//! A form is known by the path that it is sent to, so a page may have many. [`carry_out`] reads one and does what it says;
//! what does not go becomes an [`Attempt`], and the page is drawn again with it. Nothing here knows a record.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use maud::{Markup, html};

pub use self::once::once;
pub use self::reading::{Reader, fields, money_field, time_of};
use super::guards::Visitor;
use super::oops::Oops;
use crate::domain::{NotDone, Rule};
use crate::text;
use crate::texts::Language;

mod once;
mod reading;

/// The field that says which version was looked at.
const VERSION: &str = "version";
/// Fields that nobody types.
const UNSEEN: [&str; 8] = [VERSION, once::FIELD, super::csrf::FIELD, "period", "user", "site", "seen", "kind"];

/// The fields of a form by name, as they are typed. A box that is not ticked is not there.
pub type Fields = BTreeMap<String, String>;

/// Rules of a room that pages tell.
pub trait Told: Rule {
    /// For whoever tried.
    fn words(self, language: Language) -> String;
    /// What it is to a page.
    fn means(self) -> Means;
}

/// What a refusal is to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Somebody else has changed it since it was looked at.
    Stale,
    /// It is not there any more.
    Gone,
    /// What was typed is not as it should be.
    Mistake,
    /// The person may not do it.
    Forbidden,
    /// It does not go as things stand.
    Conflict,
    /// It goes once somebody says that it is meant so.
    Unconfirmed,
}

/// What somebody tried on a page, and why it did not go. The default is a page on which nothing was tried.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    /// Where the form was sent to.
    path: String,
    pub typed: Fields,
    pub bad: Vec<&'static str>,
    /// What its rule says, and what that means.
    refused: Option<(Means, String)>,
}

/// A form as it is drawn.
#[derive(Debug)]
pub struct Filled<'a> {
    pub language: Language,
    pub typed: &'a Fields,
    /// How it is by now, where that is not what was looked at.
    pub now: Option<&'a Fields>,
    /// The names of fields that are not as they should be.
    pub bad: &'a [&'static str],
}

/// A form to be drawn: where it goes, what it begins with, which version that is.
#[derive(Clone, Copy, Debug)]
pub struct Sheet<'a> {
    pub path: &'a str,
    pub now: &'a Fields,
    /// None where nobody else could change it, as for something new: that is made once, however often it is sent.
    pub version: Option<i64>,
    /// The page on which it stands.
    pub back: &'a str,
    /// What its button says, and its test id.
    pub caption: &'a str,
    pub testid: &'a str,
}

/// Reads a form and does what it says; answers what came of it, or what did not go.
pub async fn carry_out<T, R: Default, W: Told>(
    visitor: &Visitor,
    typed: Fields,
    read: impl FnOnce(&Fields) -> Result<T, Vec<&'static str>>,
    act: impl AsyncFnOnce(T) -> Result<R, NotDone<W>>,
) -> Result<Result<R, Attempt>, Oops> {
    let path = visitor.visit.path().to_owned();
    let what = match read(&typed) {
        Ok(what) => what,
        Err(bad) => return Ok(Err(Attempt { path, typed, bad, refused: None })),
    };
    match act(what).await {
        Ok(done) => Ok(Ok(done)),
        // A second click is answered as the first one would have been.
        Err(NotDone::Repeated) => Ok(Ok(R::default())),
        Err(NotDone::NotAllowed) => Err(Oops::Forbidden),
        Err(NotDone::Failed(error)) => Err(error.into()),
        Err(NotDone::Refused(why)) => match why.means() {
            Means::Forbidden => Err(Oops::Forbidden),
            means => {
                let refused = Some((means, why.words(visitor.language())));
                Ok(Err(Attempt { path, typed, bad: Vec::new(), refused }))
            }
        },
    }
}

/// The version that whoever sent a form has looked at.
pub fn version_of(typed: &Fields) -> i64 {
    typed.get(VERSION).and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// Reads a form that says nothing but which version was looked at.
pub fn seen(typed: &Fields) -> Result<i64, Vec<&'static str>> {
    Ok(version_of(typed))
}

impl Attempt {
    /// The same for a form that stands elsewhere on the page, or begins with other fields than were sent.
    #[must_use]
    pub fn at(self, path: impl Into<String>, typed: Fields) -> Self {
        Self { path: path.into(), typed, ..self }
    }

    pub fn status(&self) -> StatusCode {
        match self.refused {
            None if self.bad.is_empty() => StatusCode::OK,
            None | Some((Means::Mistake, _)) => StatusCode::UNPROCESSABLE_ENTITY,
            Some(_) => StatusCode::CONFLICT,
        }
    }

    /// Whether this form was tried.
    pub fn is_at(&self, path: &str) -> bool {
        self.path == path
    }

    /// Whether this form asks for a word more.
    pub fn is_unconfirmed(&self, path: &str) -> bool {
        self.is_at(path) && self.means() == Some(Means::Unconfirmed)
    }

    pub fn is_stale(&self) -> bool {
        self.means() == Some(Means::Stale)
    }

    /// What stands in a form: what was typed, else how it is.
    pub fn filled<'a>(&'a self, path: &str, now: &'a Fields, language: Language) -> Filled<'a> {
        if !self.is_at(path) || self.typed.is_empty() {
            return Filled { language, typed: now, now: None, bad: &[] };
        }
        Filled { language, typed: &self.typed, now: self.is_stale().then_some(now), bad: &self.bad }
    }

    /// A line on top of the page. What was typed for something that is gone has no form any more, and is shown here.
    pub fn notice(&self, language: Language) -> Markup {
        let words = match &self.refused {
            Some((Means::Stale, _)) if self.is_filled_in() => Some(text!(language, "web-form-stale")),
            Some((_, words)) => Some(words.clone()),
            None if !self.bad.is_empty() => Some(text!(language, "web-form-look-again")),
            None => None,
        };
        let kept: Vec<&str> = if self.means() == Some(Means::Gone) { self.words_typed() } else { Vec::new() };
        html! {
            @if let Some(words) = words {
                div.notice-line role="status" data-testid="notice" {
                    (words)
                    @if !kept.is_empty() { p data-testid="typed" { (text!(language, "web-form-typed")) " " (kept.join(" · ")) } }
                }
            }
        }
    }

    fn means(&self) -> Option<Means> {
        self.refused.as_ref().map(|(means, _)| *means)
    }

    /// Whether there was anything to fill in.
    fn is_filled_in(&self) -> bool {
        self.typed.keys().any(|name| !UNSEEN.contains(&name.as_str()))
    }

    fn words_typed(&self) -> Vec<&str> {
        let typed = self.typed.iter().filter(|(name, _)| !UNSEEN.contains(&name.as_str()));
        typed.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty() && *value != "on").collect()
    }
}

impl Visitor {
    /// A form with its version, its fields and its button. Where somebody was faster the button says that it saves on top.
    pub fn sheet(&self, attempt: &Attempt, sheet: Sheet<'_>, fields: impl FnOnce(&Filled<'_>) -> Markup) -> Markup {
        let language = self.language();
        let filled = attempt.filled(sheet.path, sheet.now, language);
        let is_stale = filled.now.is_some();
        // What did not go for another reason was looked at in the version that was sent; what changed since is told next.
        let version = sheet.version.map(|now| if is_stale { now } else { filled.version().unwrap_or(now) });
        self.visit.form(
            sheet.path,
            &html! {
                @match version {
                    Some(version) => { input type="hidden" name=(VERSION) value=(version); },
                    None => { input type="hidden" name=(once::FIELD) value=(self.visit.number()); },
                }
                (fields(&filled))
                @if is_stale {
                    p.now data-testid="stale" { (text!(language, "web-form-on-top-about")) }
                }
                button type="submit" data-testid=(sheet.testid) {
                    @if is_stale { (text!(language, "web-form-on-top")) } @else { (sheet.caption) }
                }
                @if is_stale { " " a.button.plain href=(sheet.back) { (text!(language, "web-form-drop")) } }
            },
        )
    }
}

impl Filled<'_> {
    /// What stands in a field.
    pub fn value(&self, name: &str) -> &str {
        self.typed.get(name).map_or("", String::as_str)
    }

    /// The version that was looked at, where that was sent.
    fn version(&self) -> Option<i64> {
        self.typed.get(VERSION).and_then(|version| version.parse().ok())
    }

    fn is_bad(&self, name: &str) -> bool {
        self.bad.contains(&name)
    }

    fn hint(&self, name: &str, shown: impl FnOnce(&str) -> String) -> Markup {
        let now = self.now.map(|now| now.get(name).map_or("", String::as_str)).filter(|now| *now != self.value(name));
        html! {
            @if self.is_bad(name) { span.bad { (text!(self.language, "web-form-bad-field")) } }
            @if let Some(now) = now {
                span.now data-testid={ "now-" (name) } { (text!(self.language, "web-form-by-now", value = shown(now))) }
            }
        }
    }

    /// A line of text.
    pub fn line(&self, name: &str, label: &str, most: usize) -> Markup {
        self.line_of(name, label, most, None)
    }

    /// The same with suggestions, which stand in a list of this id.
    pub fn suggested(&self, name: &str, label: &str, most: usize, list: &str) -> Markup {
        self.line_of(name, label, most, Some(list))
    }

    fn line_of(&self, name: &str, label: &str, most: usize, list: Option<&str>) -> Markup {
        html! {
            label.wide { (label)
                input type="text" name=(name) maxlength=(most) value=(self.value(name)) list=[list]
                    aria-invalid=[self.is_bad(name).then_some("true")];
                (self.hint(name, or_dash))
            }
        }
    }

    /// Something short of a kind that browsers know: `time`, `date`, `number`, or `text`.
    pub fn short(&self, name: &str, label: &str, kind: &str) -> Markup {
        self.short_if(true, name, label, kind)
    }

    /// The same, for those who may change it; others read it as it is by now.
    pub fn short_if(&self, may_change: bool, name: &str, label: &str, kind: &str) -> Markup {
        let stored = self.now.filter(|_| !may_change);
        let value = stored.map_or(self.value(name), |now| now.get(name).map_or("", String::as_str));
        html! {
            label { (label)
                input type=(kind) name=(name) value=(value) maxlength="40" readonly[!may_change]
                    inputmode=[(kind == "text").then_some("decimal")]
                    aria-invalid=[self.is_bad(name).then_some("true")];
                @if may_change { (self.hint(name, or_dash)) } @else { span.quiet { (text!(self.language, "web-form-not-yours")) } }
            }
        }
    }

    /// A box to tick.
    pub fn tick(&self, name: &str, label: &str) -> Markup {
        let told = |now: &str| {
            if now.is_empty() {
                text!(self.language, "web-form-not-ticked")
            } else {
                text!(self.language, "web-form-ticked")
            }
        };
        html! {
            label.tick {
                input type="checkbox" name=(name) checked[self.typed.contains_key(name)] aria-label=(label);
                (label)
                (self.hint(name, told))
            }
        }
    }

    /// One of a few, all of which are seen at once: the value of each, and its name.
    pub fn radios(&self, name: &str, options: &[(&str, String)]) -> Markup {
        html! {
            div.row.choice {
                @for (value, caption) in options {
                    label {
                        input type="radio" name=(name) value=(value) required checked[self.value(name) == *value];
                        (caption)
                    }
                }
                (self.hint(name, |now| name_of(options, now)))
            }
        }
    }

    /// One of several: the value of each, and its name.
    pub fn choice(&self, name: &str, label: &str, options: &[(&str, String)]) -> Markup {
        html! {
            label { (label)
                select name=(name) aria-invalid=[self.is_bad(name).then_some("true")] {
                    @for (value, caption) in options { option value=(value) selected[self.value(name) == *value] { (caption) } }
                }
                (self.hint(name, |now| name_of(options, now)))
            }
        }
    }
}

fn name_of(options: &[(&str, String)], value: &str) -> String {
    options.iter().find(|(one, _)| *one == value).map_or_else(|| or_dash(value), |(_, name)| name.clone())
}

fn or_dash(now: &str) -> String {
    if now.is_empty() { "–".to_owned() } else { now.to_owned() }
}
