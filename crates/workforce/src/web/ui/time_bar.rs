//! A day as a bar: who works when, where nobody does, and the present moment.
//!
//! It is an SVG, because pages may have no inline styles. Times are minutes of the day, from 0 to 1440.

use std::ops::Range;

use maud::{Markup, html};

use super::Tone;

const DAY: i64 = 24 * 60;
/// Heights in units of the picture.
const LANE: i64 = 10;
const GAP: i64 = 3;
/// No bar is higher: later lanes share the last one.
const MAX_LANES: usize = 6;

/// A part of the day.
#[derive(Clone, Debug)]
pub struct TimeSegment {
    /// Minutes of the day; what is outside of the day is cut off.
    pub minutes: Range<i64>,
    pub tone: Tone,
    /// Shown when pointed at: "Anna Petrova, 08:00 – 16:00".
    pub title: String,
    /// Planned and not started: drawn as an outline.
    pub is_planned: bool,
}

/// A bar of a day.
#[derive(Clone, Debug, Default)]
pub struct TimeBar {
    /// Says what the bar shows: it is an image for people who do not see it.
    pub label: String,
    pub segments: Vec<TimeSegment>,
    /// The present minute, if the day is today.
    pub now: Option<i64>,
    /// Whether hours are written below.
    pub has_scale: bool,
}

impl TimeBar {
    pub fn render(&self) -> Markup {
        let lanes = self.lanes();
        let height = (lanes.iter().max().map_or(1, |last| last + 1) as i64) * (LANE + GAP) - GAP;
        html! {
            figure.time-bar {
                svg viewBox={ "0 0 " (DAY) " " (height) } preserveAspectRatio="none" role="img" aria-label=(self.label)
                    height=(height) {
                    rect.track x="0" y="0" width=(DAY) height=(height) {}
                    @for hour in [6, 12, 18] { line.hour x1=(hour * 60) x2=(hour * 60) y1="0" y2=(height) {} }
                    @for (segment, lane) in self.segments.iter().zip(&lanes) { (bar(segment, *lane)) }
                    @if let Some(now) = self.now { line.now x1=(now) x2=(now) y1="0" y2=(height) {} }
                }
                @if self.has_scale {
                    figcaption.hours aria-hidden="true" { @for hour in [0, 6, 12, 18, 24] { span { (hour) } } }
                }
            }
        }
    }

    /// The lane of each segment: the first that is free, so that segments do not cover each other.
    fn lanes(&self) -> Vec<usize> {
        let mut ends: Vec<i64> = Vec::new();
        let mut lane_of = |minutes: &Range<i64>| {
            let free = ends.iter().position(|end| *end <= minutes.start);
            let lane = free.unwrap_or(ends.len()).min(MAX_LANES - 1);
            if lane == ends.len() {
                ends.push(minutes.end);
            } else {
                ends[lane] = ends[lane].max(minutes.end);
            }
            lane
        };
        self.segments.iter().map(|segment| lane_of(&segment.minutes)).collect()
    }
}

fn bar(segment: &TimeSegment, lane: usize) -> Markup {
    let from = segment.minutes.start.clamp(0, DAY);
    // A part that just began is still seen.
    let width = (segment.minutes.end.clamp(0, DAY) - from).max(4);
    let class = format!("part tone-{}{}", segment.tone.name(), if segment.is_planned { " planned" } else { "" });
    html! {
        rect class=(class) x=(from) y=(lane as i64 * (LANE + GAP)) width=(width) height=(LANE) { title { (segment.title) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(minutes: Range<i64>) -> TimeSegment {
        TimeSegment { minutes, tone: Tone::Good, title: String::new(), is_planned: false }
    }

    #[test]
    fn segments_at_the_same_time_get_lanes_of_their_own() {
        let segments = vec![segment(0..480), segment(60..120), segment(120..200), segment(480..900)];
        let bar = TimeBar { segments, ..TimeBar::default() };
        assert_eq!(bar.lanes(), [0, 1, 1, 0]);
    }

    #[test]
    fn a_crowded_day_stays_a_low_bar() {
        let bar = TimeBar { segments: (0..50).map(|at| segment(at..600)).collect(), ..TimeBar::default() };
        assert_eq!(bar.lanes().into_iter().max(), Some(MAX_LANES - 1));
    }

    #[test]
    fn what_is_outside_of_the_day_is_cut_off() {
        let bar = TimeBar { segments: vec![segment(-60..2000)], ..TimeBar::default() };
        assert!(bar.render().into_string().contains(r#"x="0" y="0" width="1440" height="10"><title>"#));
    }
}
