//! Where a visitor is in the calendar, in links and in forms.

use chrono::NaiveDate;
use serde::Deserialize;

use crate::web::DayParam;
use crate::web::form::Fields;

/// The form field with the place that a form leads back to.
const AT: &str = "at";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CalendarQuery {
    pub site: String,
    /// `week` or `month`.
    pub view: String,
    pub day: DayParam,
    /// The open side panel: `new`, `fill` or `copy`.
    pub panel: String,
    /// The first and the last day that the panel begins with.
    pub on: DayParam,
    pub until: DayParam,
    /// The slot in the side panel.
    pub slot: String,
}

/// The selected site, week or month, and the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub site: Option<i64>,
    pub is_month: bool,
    pub day: NaiveDate,
}

impl Place {
    /// The value of the form field.
    pub fn query(self) -> String {
        let site = self.site.map(|site| site.to_string()).unwrap_or_default();
        format!("site={site}&view={}&day={}", if self.is_month { "month" } else { "week" }, self.day)
    }

    pub fn path(self) -> String {
        format!("/calendar?{}", self.query())
    }

    /// The path with a side panel.
    pub fn panel(self, panel: &str) -> String {
        format!("{}&panel={panel}", self.path())
    }

    /// A link within the calendar to a slot in the side panel. A page has hundreds of them, so it is short.
    pub fn slot(self, id: i64) -> String {
        let site = self.site.map(|site| format!("site={site}&")).unwrap_or_default();
        let view = if self.is_month { "view=month&" } else { "" };
        format!("/calendar?{site}{view}day={}&slot={id}", self.day)
    }
}

impl CalendarQuery {
    /// The place that a form was sent from; None if it was not the calendar.
    pub fn of_form(typed: &Fields) -> Option<Self> {
        let mut query = Self::default();
        let text = typed.get(AT)?;
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            match name.as_ref() {
                "site" => query.site = value.into_owned(),
                "view" => query.view = value.into_owned(),
                "day" => query.day = DayParam::of_text(value.into_owned()).or_empty(),
                _ => {}
            }
        }
        Some(query)
    }

    /// Where a form about a site leads: to its day. A filter for another site would hide the result.
    pub fn after_form(typed: &Fields, site: i64, day_field: &str) -> Self {
        let site = site.to_string();
        let mut query = Self::of_form(typed).unwrap_or_else(|| Self { site: site.clone(), ..Self::default() });
        if !query.site.is_empty() {
            query.site = site;
        }
        let day = DayParam::from_field(typed, day_field);
        if day.day().is_ok() {
            query.day = day;
        }
        query
    }

    /// The path of the calendar, with the slot in the side panel if there is one.
    pub fn path(&self) -> String {
        let slot = self.slot.parse::<i64>().map(|id| format!("&slot={id}")).unwrap_or_default();
        format!("/calendar?{}{slot}", self.place())
    }

    /// The value of the form field.
    pub fn place(&self) -> String {
        let site = self.site.parse::<i64>().map(|site| site.to_string()).unwrap_or_default();
        let view = if self.is_month() { "&view=month" } else { "" };
        format!("site={site}{view}&day={}", self.day)
    }

    pub fn is_month(&self) -> bool {
        self.view == "month"
    }
}
