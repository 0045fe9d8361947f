//! What was just done in the calendar, and how it is undone.
//!
//! The next page says it in a toast. Its button sends one of the usual forms, whose commit checks rights and versions.

use axum::response::{IntoResponse, Response};
use chrono::NaiveDate;

use super::place::CalendarQuery;
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::ui::{PageRedirect, Toast, Tone};

/// A change of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Created {
        slot: i64,
    },
    Saved,
    Moved {
        slot: i64,
        version: i64,
        from: NaiveDate,
    },
    Deleted {
        slot: i64,
    },
    Restored,
    /// Several new slots of a site.
    Added {
        site: i64,
        created_at_ms: i64,
        count: u64,
    },
    TakenBack {
        count: u64,
    },
}

/// The form that undoes a change: its path and its fields.
type UndoForm = (String, Vec<(&'static str, String)>);

impl Done {
    /// Redirects to the calendar, which says what was done.
    pub fn redirect(self, visitor: &Visitor, query: &CalendarQuery) -> Response {
        PageRedirect::to(query.path()).with(self.toast(visitor.language(), query)).into_response()
    }

    fn toast(self, language: Language, query: &CalendarQuery) -> Toast {
        let said = match self {
            Self::Created { .. } => text!(language, "overview-did-create"),
            Self::Saved => text!(language, "overview-did-save"),
            Self::Moved { .. } => text!(language, "overview-did-move"),
            Self::Deleted { .. } => text!(language, "overview-did-delete"),
            Self::Restored => text!(language, "overview-did-restore"),
            Self::Added { count, .. } => text!(language, "cabinet-slots-made", count = count),
            Self::TakenBack { count } => text!(language, "overview-did-take-back", count = count),
        };
        let is_nothing = matches!(self, Self::Added { count: 0, .. } | Self::TakenBack { count: 0 });
        let toast = Toast::with_tone(if is_nothing { Tone::Wait } else { Tone::Good }, said);
        match self.undo() {
            Some((path, mut fields)) => {
                fields.push(("at", query.place()));
                toast.action(text!(language, "overview-undo"), path, &fields)
            }
            None => toast,
        }
    }

    fn undo(self) -> Option<UndoForm> {
        match self {
            Self::Created { slot } => {
                Some((format!("/calendar/slots/{slot}/delete"), vec![("version", "1".to_owned())]))
            }
            Self::Moved { slot, version, from } => Some((
                format!("/calendar/slots/{slot}/move"),
                vec![("version", version.to_string()), ("day", from.to_string())],
            )),
            Self::Deleted { slot } => Some((format!("/calendar/slots/{slot}/restore"), Vec::new())),
            Self::Added { count: 0, .. } | Self::Saved | Self::Restored | Self::TakenBack { .. } => None,
            Self::Added { site, created_at_ms, .. } => Some((
                "/calendar/take-back".to_owned(),
                vec![("site", site.to_string()), ("created_at", created_at_ms.to_string())],
            )),
        }
    }
}
