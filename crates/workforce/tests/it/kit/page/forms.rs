//! Forms as a person fills them in: unfolded, typed by keys, ticked by what is written beside a box.

use thirtyfour::By;

use super::{Page, by_testid};

/// To the left, as often as a day or a time has parts: whatever was typed there before, the first one is next.
const TO_THE_FIRST_PART: &str = "\u{e012}\u{e012}\u{e012}";
const HALF_A_DAY: u32 = 12;

impl Page {
    /// Unfolds what a line of words hides, unless that is seen already.
    pub async fn unfold(&self, testid: &str) {
        let unfolded = format!("details[open] > {}", by_testid(testid));
        self.find(testid).await;
        if self.driver.find(By::Css(&unfolded)).await.is_err() {
            self.press(testid).await;
            self.find_css(&unfolded).await;
        }
    }

    /// Types over what stands in a field. A day is given as `2026-01-31` and a time as `18:00`, as forms send them.
    pub async fn type_over(&self, css: &str, value: &str) {
        let field = self.find_css(css).await;
        let keys = match field.prop("type").await.unwrap().as_deref() {
            Some("date") => keys_of_day(value),
            Some("time") => keys_of_time(value),
            _ => {
                field.clear().await.unwrap();
                value.to_owned()
            }
        };
        field.send_keys(keys).await.unwrap();
        assert_eq!(field.value().await.unwrap().as_deref(), Some(value), "{css}");
    }

    /// Ticks the box of a form beside which this is written.
    pub async fn tick(&self, form: &str, words: &str) {
        let labels = format!("{form} label.tick");
        self.press_words(&labels, words).await;
        let label = self.find_where(&labels, words, |shown| shown == words).await;
        let is_ticked = label.find(By::Css("input")).await.unwrap().is_selected().await.unwrap();
        assert!(is_ticked, "{words}");
    }
}

/// In the order in which a browser in American English asks for them.
fn keys_of_day(day: &str) -> String {
    let mut parts = day.split('-');
    let (year, month, day) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    format!("{TO_THE_FIRST_PART}{month}{day}{year}")
}

/// By the half of the day.
fn keys_of_time(time: &str) -> String {
    let (hour, minute) = time.split_once(':').unwrap();
    let hour: u32 = hour.parse().unwrap();
    let half = if hour < HALF_A_DAY { "AM" } else { "PM" };
    let hour = match hour % HALF_A_DAY {
        0 => HALF_A_DAY,
        other => other,
    };
    format!("{TO_THE_FIRST_PART}{hour:02}{minute}{half}")
}
