//! Bars along a scale with round numbers, as SVG. What is below zero goes down from the line of zero.

use maud::{Markup, html};

const HEIGHT: f64 = 170.0;
const BAR: f64 = 22.0;
const GAP: f64 = 7.0;
/// For the numbers of the days.
const FOOT: f64 = 20.0;
/// For the numbers of the scale; the highest of them needs some space above, too.
const SIDE: f64 = 78.0;
const HEAD: f64 = 8.0;
/// More lines than these would be too many.
const LINES_MOST: i64 = 5;

/// A day: how high, and what that is in words.
#[derive(Debug)]
pub struct Bar {
    pub day: u32,
    pub value: i64,
    pub words: String,
}

/// From where to where the values go, and how far its lines are apart: by 1, 2 or 5 and zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    bottom: i64,
    top: i64,
    step: i64,
}

impl Scale {
    /// Around these values and zero, by no smaller steps than the unit.
    pub fn of(values: impl Iterator<Item = i64>, unit: i64) -> Self {
        let (least, most) = values.fold((0, 0), |(least, most), value| (value.min(least), value.max(most)));
        let span = (most - least).max(unit);
        let steps = (0..18).flat_map(|zeros| [1, 2, 5].map(|digit| unit.saturating_mul(digit * 10_i64.pow(zeros))));
        let step = steps.into_iter().find(|step| span <= step.saturating_mul(LINES_MOST)).unwrap_or(i64::MAX);
        let up = |value: i64| value.div_euclid(step) + i64::from(value.rem_euclid(step) > 0);
        let top = if most > 0 || least == 0 { up(most).max(1) * step } else { 0 };
        Self { bottom: least.div_euclid(step) * step, top, step }
    }

    /// Where its lines are, zero among them.
    pub fn marks(self) -> impl Iterator<Item = i64> {
        let lines = (self.top - self.bottom) / self.step;
        (0..=lines).map(move |line| self.bottom + line * self.step)
    }

    /// How far down a value is.
    fn y(self, value: i64) -> f64 {
        HEAD + (self.top - value) as f64 / (self.top - self.bottom) as f64 * HEIGHT
    }
}

/// The picture. Its values are said elsewhere, so to those who do not see it it is one thing with a name.
pub fn svg(label: &str, bars: &[Bar], scale: Scale, marks: &[(i64, String)]) -> Markup {
    let (width, height) = (SIDE + bars.len() as f64 * (BAR + GAP), HEAD + HEIGHT + FOOT);
    html! {
        svg role="img" aria-label=(label) viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
            @for (value, words) in marks {
                line class={ "scale" @if *value == 0 { " zero" } } x1=(SIDE) x2=(width) y1=(scale.y(*value)) y2=(scale.y(*value)) {}
                text class="tick" x=(SIDE - 8.0) y=(scale.y(*value) + 4.0) text-anchor="end" { (words) }
            }
            @for (at, bar) in bars.iter().enumerate() { (drawn(at, bar, scale, height)) }
        }
    }
}

fn drawn(at: usize, bar: &Bar, scale: Scale, height: f64) -> Markup {
    let x = SIDE + GAP / 2.0 + at as f64 * (BAR + GAP);
    let (zero, end) = (scale.y(0), scale.y(bar.value));
    html! {
        g {
            @if bar.value != 0 {
                title { (bar.day) ": " (bar.words) }
                rect class="bar" x=(x) y=(zero.min(end)) width=(BAR) height=((zero - end).abs().max(1.0)) rx="2" {}
            }
            text class="tick" x=(x + BAR / 2.0) y=(height - 5.0) text-anchor="middle" { (bar.day) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(values: &[i64], unit: i64) -> Vec<i64> {
        Scale::of(values.iter().copied(), unit).marks().collect()
    }

    #[test]
    fn a_scale_has_few_round_numbers_and_holds_every_value() {
        assert_eq!(marks(&[0, 7], 100), [0, 100], "a little of an hour is shown within one");
        assert_eq!(marks(&[850, 2475], 100), [0, 500, 1000, 1500, 2000, 2500]);
        assert_eq!(marks(&[3], 1), [0, 1, 2, 3]);
        assert_eq!(marks(&[123_456_789], 100), [0, 50_000_000, 100_000_000, 150_000_000]);
        assert_eq!(marks(&[], 1), [0, 1]);
    }

    #[test]
    fn what_is_below_zero_has_lines_there() {
        assert_eq!(marks(&[-30_000, 90_000], 100), [-50_000, 0, 50_000, 100_000]);
        assert_eq!(marks(&[-500], 100), [-500, -400, -300, -200, -100, 0]);
        let drawn =
            svg("x", &[Bar { day: 1, value: -500, words: "−5".into() }], Scale::of([-500].into_iter(), 100), &[]);
        assert!(drawn.into_string().contains("<title>1: −5</title>"));
    }
}
