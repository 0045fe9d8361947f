//! Forms on a page: expands sections, types into fields, ticks boxes.

use thirtyfour::By;

use super::labels::choose;
use super::{Page, by_testid};

/// Left arrow, three times: moves to the first part of a date or time field.
const FIRST_PART: &str = "\u{e012}\u{e012}\u{e012}";
const HOURS_PER_HALF_DAY: u32 = 12;

impl Page {
    /// Expands a `<details>` section, unless it is open.
    pub async fn expand(&self, testid: &str) {
        let expanded = format!("details[open] > {}", by_testid(testid));
        self.find(testid).await;
        if self.driver.find(By::Css(&expanded)).await.is_err() {
            self.press(testid).await;
            self.find_css(&expanded).await;
        }
    }

    /// Replaces the value of a field. Dates are `2026-01-31` and times `18:00`, as forms send them.
    pub async fn set_field(&self, css: &str, value: &str) {
        let field = self.find_css(css).await;
        let kind = field.prop("type").await.unwrap().unwrap_or_default();
        if !matches!(kind.as_str(), "date" | "time") {
            field.clear().await.unwrap();
        }
        field.send_keys(keys_for(&kind, value)).await.unwrap();
        assert_eq!(field.value().await.unwrap().as_deref(), Some(value), "{css}");
    }

    /// Takes the choice with this text of a list.
    pub async fn choose(&self, testid: &str, text: &str) {
        choose(&self.find(testid).await, text).await;
    }

    /// Ticks the box with this label in a form.
    pub async fn tick(&self, form: &str, words: &str) {
        let labels = format!("{form} label.tick");
        self.press_text(&labels, words).await;
        let label = self.find_where(&labels, words, |shown| shown == words).await;
        let is_ticked = label.find(By::Css("input")).await.unwrap().is_selected().await.unwrap();
        assert!(is_ticked, "{words}");
    }
}

/// The keys that type a value into a field of this type.
pub fn keys_for(kind: &str, value: &str) -> String {
    match kind {
        "date" => date_keys(value),
        "time" => time_keys(value),
        _ => value.to_owned(),
    }
}

/// In the order of a browser in American English: month, day, year.
fn date_keys(day: &str) -> String {
    let mut parts = day.split('-');
    let (year, month, day) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    format!("{FIRST_PART}{month}{day}{year}")
}

/// With AM and PM.
fn time_keys(time: &str) -> String {
    let (hour, minute) = time.split_once(':').unwrap();
    let hour: u32 = hour.parse().unwrap();
    let half = if hour < HOURS_PER_HALF_DAY { "AM" } else { "PM" };
    let hour = match hour % HOURS_PER_HALF_DAY {
        0 => HOURS_PER_HALF_DAY,
        other => other,
    };
    format!("{FIRST_PART}{hour:02}{minute}{half}")
}
