//! Bar charts as SVG, with a scale of round numbers. Negative values go down from zero.

use maud::{Markup, html};

const HEIGHT: f64 = 170.0;
const BAR: f64 = 22.0;
const GAP: f64 = 7.0;
/// Space for the days.
const FOOT: f64 = 20.0;
/// Space for the numbers of the scale; the highest one also needs space above.
const SIDE: f64 = 78.0;
const HEAD: f64 = 8.0;
const MAX_LINES: i64 = 5;

/// The value of a day, as a number and as text.
#[derive(Debug)]
pub struct Bar {
    pub day: u32,
    pub value: i64,
    pub words: String,
}

/// The range of the values, and the distance between the lines: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    bottom: i64,
    top: i64,
    step: i64,
}

impl Scale {
    /// A scale that includes zero, with steps not smaller than the unit.
    pub fn new(values: impl Iterator<Item = i64>, unit: i64) -> Self {
        let (lowest, highest) = values.fold((0, 0), |(lowest, highest), value| (value.min(lowest), value.max(highest)));
        let span = (highest - lowest).max(unit);
        let steps = (0..18).flat_map(|zeros| [1, 2, 5].map(|digit| unit.saturating_mul(digit * 10_i64.pow(zeros))));
        let step = steps.into_iter().find(|step| span <= step.saturating_mul(MAX_LINES)).unwrap_or(i64::MAX);
        let up = |value: i64| value.div_euclid(step) + i64::from(value.rem_euclid(step) > 0);
        let top = if highest > 0 || lowest == 0 { up(highest).max(1) * step } else { 0 };
        Self { bottom: lowest.div_euclid(step) * step, top, step }
    }

    /// The values of the lines, including zero.
    pub fn marks(self) -> impl Iterator<Item = i64> {
        let lines = (self.top - self.bottom) / self.step;
        (0..=lines).map(move |line| self.bottom + line * self.step)
    }

    /// The vertical coordinate of a value.
    fn y(self, value: i64) -> f64 {
        HEAD + (self.top - value) as f64 / (self.top - self.bottom) as f64 * HEIGHT
    }
}

/// The picture. Screen readers get its label only, because a table has the values.
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
        Scale::new(values.iter().copied(), unit).marks().collect()
    }

    #[test]
    fn a_scale_has_few_round_numbers_around_all_values() {
        assert_eq!(marks(&[0, 7], 100), [0, 100], "a little of an hour is shown within one");
        assert_eq!(marks(&[850, 2475], 100), [0, 500, 1000, 1500, 2000, 2500]);
        assert_eq!(marks(&[3], 1), [0, 1, 2, 3]);
        assert_eq!(marks(&[123_456_789], 100), [0, 50_000_000, 100_000_000, 150_000_000]);
        assert_eq!(marks(&[], 1), [0, 1]);
    }

    #[test]
    fn negative_values_have_lines_below_zero() {
        assert_eq!(marks(&[-30_000, 90_000], 100), [-50_000, 0, 50_000, 100_000]);
        assert_eq!(marks(&[-500], 100), [-500, -400, -300, -200, -100, 0]);
        let drawn =
            svg("x", &[Bar { day: 1, value: -500, words: "−5".into() }], Scale::new([-500].into_iter(), 100), &[]);
        assert!(drawn.into_string().contains("<title>1: −5</title>"));
    }
}
