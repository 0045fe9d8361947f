//! Where a visitor is on the board, in links and in forms.

use chrono::NaiveDate;
use serde::Deserialize;

use super::BOARD;
use crate::orders::{OrderFilter, OrderStatus};
use crate::sites::Period;
use crate::web::DayParam;
use crate::web::form::Fields;

/// The form field with the place that a form leads back to.
pub const AT: &str = "at";

/// How the orders are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoardView {
    /// A column for each status.
    #[default]
    Statuses,
    /// A column for each master.
    Masters,
    /// A table by day and master, also for paper.
    Table,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct BoardQuery {
    pub view: String,
    pub status: String,
    pub master: String,
    pub equipment: String,
    pub day: DayParam,
}

impl BoardView {
    pub const ALL: [Self; 3] = [Self::Statuses, Self::Masters, Self::Table];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Statuses => "",
            Self::Masters => "masters",
            Self::Table => "table",
        }
    }
}

impl BoardQuery {
    /// The place that a form was sent from; None if it was not the board.
    pub fn of_form(typed: &Fields) -> Option<Self> {
        let (text, mut query) = (typed.get(AT)?, Self::default());
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            match name.as_ref() {
                "view" => query.view = value.into_owned(),
                "status" => query.status = value.into_owned(),
                "master" => query.master = value.into_owned(),
                "equipment" => query.equipment = value.into_owned(),
                "day" => query.day = DayParam::of_text(value.into_owned()).or_empty(),
                _ => {}
            }
        }
        Some(query)
    }

    pub fn view(&self) -> BoardView {
        BoardView::ALL.into_iter().find(|view| view.name() == self.view).unwrap_or_default()
    }

    pub fn status(&self) -> Option<OrderStatus> {
        self.status.parse().ok()
    }

    pub fn master(&self) -> Option<i64> {
        self.master.parse().ok()
    }

    /// The day; none for orders of all days.
    pub fn day(&self) -> Option<NaiveDate> {
        self.day.day().ok()
    }

    /// What is listed. `day` is the selected day by the clock of the business.
    pub fn filter(&self, day: Option<Period>) -> OrderFilter {
        let equipment_type = Some(self.equipment.clone()).filter(|name| !name.is_empty());
        OrderFilter {
            statuses: self.status().into_iter().collect(),
            master_id: self.master(),
            equipment_type,
            scheduled: day,
            ..OrderFilter::default()
        }
    }

    #[must_use]
    pub fn in_view(&self, view: BoardView) -> Self {
        Self { view: view.name().to_owned(), ..self.clone() }
    }

    #[must_use]
    pub fn on(&self, day: Option<NaiveDate>) -> Self {
        let day = DayParam::of_text(day.map(|day| day.to_string()).unwrap_or_default());
        Self { day, ..self.clone() }
    }

    #[must_use]
    pub fn of_master(&self, master: Option<i64>) -> Self {
        Self { master: master.map(|id| id.to_string()).unwrap_or_default(), ..self.clone() }
    }

    /// The value of the form field.
    pub fn place(&self) -> String {
        let day = self.day().map(|day| day.to_string()).unwrap_or_default();
        let parts = [
            ("view", self.view().name()),
            ("status", self.status().map_or("", OrderStatus::name)),
            ("master", self.master.as_str()),
            ("equipment", self.equipment.as_str()),
            ("day", day.as_str()),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(parts.into_iter().filter(|(_, value)| !value.is_empty()));
        query.finish()
    }

    pub fn path(&self) -> String {
        let place = self.place();
        if place.is_empty() { BOARD.to_owned() } else { format!("{BOARD}?{place}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::form::fields;

    #[test]
    fn a_place_survives_a_form() {
        let query = BoardQuery { equipment: "Oven & hob".into(), master: "7".into(), ..BoardQuery::default() };
        let query = query.in_view(BoardView::Masters).on("2026-01-05".parse().ok());
        let back = BoardQuery::of_form(&fields([(AT, query.place())])).unwrap();
        assert_eq!(back.path(), query.path());
        assert_eq!(back.path(), "/orders?view=masters&master=7&equipment=Oven+%26+hob&day=2026-01-05");
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let odd = fields([(AT, "view=x&status=lost&day=tomorrow&to=//evil".to_owned())]);
        assert_eq!(BoardQuery::of_form(&odd).unwrap().path(), BOARD);
        assert!(BoardQuery::of_form(&Fields::new()).is_none());
    }
}
