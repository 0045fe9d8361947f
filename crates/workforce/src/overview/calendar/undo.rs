//! What was just done in the calendar, and how it is undone.
//!
//! The next page says it in a toast. Its button sends one of the usual forms, whose commit checks rights and versions.

use axum::response::{IntoResponse, Response};
use chrono::NaiveDate;

use super::place::CalendarQuery;
use super::slot_form::write_slot;
use crate::sites::AboutSlot;
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::form::{Fields, fields};
use crate::web::ui::{PageRedirect, Toast, Tone};

/// A change of the calendar.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    Created {
        slot: i64,
    },
    /// What the slot was before; none if that is not known.
    Saved {
        slot: i64,
        version: i64,
        before: Option<AboutSlot>,
    },
    Moved {
        slot: i64,
        version: i64,
        from: NaiveDate,
    },
    Deleted {
        slot: i64,
    },
    Restored {
        slot: i64,
        version: i64,
    },
    /// Several new slots of a site.
    Added {
        site: i64,
        created_at_ms: i64,
        count: u64,
    },
    TakenBack {
        count: u64,
    },
    /// A person was assigned. No plan if the visitor may not cancel it.
    Assigned {
        slot: i64,
        plan: Option<i64>,
    },
    TakenOut {
        slot: i64,
        user: i64,
    },
}

impl Done {
    /// Redirects to the calendar, which says what was done.
    pub fn redirect(&self, visitor: &Visitor, query: &CalendarQuery) -> Response {
        PageRedirect::to(query.path()).with(self.toast(visitor.language(), Some(query))).into_response()
    }

    /// Says what was done. Its button leads back to the calendar, or to the slot's page without a query.
    pub fn toast(&self, language: Language, query: Option<&CalendarQuery>) -> Toast {
        let is_nothing = matches!(self, Self::Added { count: 0, .. } | Self::TakenBack { count: 0 });
        let toast = Toast::with_tone(if is_nothing { Tone::Wait } else { Tone::Good }, self.said(language));
        let Some((path, mut fields)) = self.undo(language) else { return toast };
        fields.extend(query.map(|query| ("at".to_owned(), query.place())));
        let fields: Vec<(&str, String)> = fields.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        toast.action(text!(language, "overview-undo"), path, &fields)
    }

    fn said(&self, language: Language) -> String {
        match self {
            Self::Created { .. } => text!(language, "overview-did-create"),
            Self::Saved { .. } => text!(language, "overview-did-save"),
            Self::Moved { .. } => text!(language, "overview-did-move"),
            Self::Deleted { .. } => text!(language, "overview-did-delete"),
            Self::Restored { .. } => text!(language, "overview-did-restore"),
            Self::Added { count, .. } => text!(language, "cabinet-slots-made", count = *count),
            Self::TakenBack { count } => text!(language, "overview-did-take-back", count = *count),
            Self::Assigned { .. } => text!(language, "cabinet-person-put"),
            Self::TakenOut { .. } => text!(language, "cabinet-person-taken-out"),
        }
    }

    /// The form that undoes the change: its path and its fields.
    fn undo(&self, language: Language) -> Option<(String, Fields)> {
        let version = |version: &i64| ("version", version.to_string());
        match self {
            Self::Created { slot } => Some((format!("/calendar/slots/{slot}/delete"), fields([version(&1)]))),
            Self::Saved { slot, version: now, before } => {
                let mut earlier = write_slot(before.as_ref()?, language);
                earlier.extend(fields([version(now)]));
                Some((format!("/calendar/slots/{slot}"), earlier))
            }
            Self::Moved { slot, version: now, from } => {
                let earlier = fields([version(now), ("day", from.to_string())]);
                Some((format!("/calendar/slots/{slot}/move"), earlier))
            }
            Self::Deleted { slot } => Some((format!("/calendar/slots/{slot}/restore"), Fields::new())),
            Self::Restored { slot, version: now } => {
                Some((format!("/calendar/slots/{slot}/delete"), fields([version(now)])))
            }
            Self::Added { count: 0, .. } | Self::TakenBack { .. } => None,
            Self::Added { site, created_at_ms, .. } => {
                let which = fields([("site", site.to_string()), ("created_at", created_at_ms.to_string())]);
                Some(("/calendar/take-back".to_owned(), which))
            }
            Self::Assigned { slot, plan } => {
                Some((format!("/calendar/slots/{slot}/plans/{}/cancel", (*plan)?), Fields::new()))
            }
            Self::TakenOut { slot, user } => {
                Some((format!("/calendar/slots/{slot}/plans"), fields([("user", user.to_string())])))
            }
        }
    }
}
