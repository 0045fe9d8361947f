//! Bar charts as SVG, with a scale of round numbers. Negative values go down from zero.

use maud::{Markup, html};

const HEIGHT: f64 = 170.0;
/// Space for the days.
const FOOT: f64 = 20.0;
/// The highest number of the scale needs space above.
const HEAD: f64 = 8.0;
const MAX_LINES: i64 = 5;

/// The measures of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Measures {
    class: &'static str,
    bar: f64,
    gap: f64,
    /// Space for the numbers of the scale.
    side: f64,
    /// Every how many days a day is written.
    labelled: u32,
}

impl Measures {
    /// For desktops.
    pub const WIDE: Self = Self { class: "wide", bar: 22.0, gap: 7.0, side: 78.0, labelled: 1 };
    /// A whole month on a phone.
    pub const NARROW: Self = Self { class: "narrow-chart", bar: 6.0, gap: 2.0, side: 62.0, labelled: 5 };

    fn width(self, bars: usize) -> f64 {
        self.side + bars as f64 * (self.bar + self.gap)
    }

    fn is_labelled(self, day: u32) -> bool {
        day == 1 || day.is_multiple_of(self.labelled)
    }
}

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
pub fn svg(label: &str, bars: &[Bar], scale: Scale, marks: &[(i64, String)], measures: Measures) -> Markup {
    let (width, height) = (measures.width(bars.len()), HEAD + HEIGHT + FOOT);
    let side = measures.side;
    html! {
        svg class=(measures.class) role="img" aria-label=(label) viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
            @for (value, words) in marks {
                line class={ "scale" @if *value == 0 { " zero" } } x1=(side) x2=(width) y1=(scale.y(*value)) y2=(scale.y(*value)) {}
                text class="tick" x=(side - 8.0) y=(scale.y(*value) + 4.0) text-anchor="end" { (words) }
            }
            @for (at, bar) in bars.iter().enumerate() { (drawn(at, bar, scale, height, measures)) }
        }
    }
}

fn drawn(at: usize, bar: &Bar, scale: Scale, height: f64, measures: Measures) -> Markup {
    let x = measures.side + measures.gap / 2.0 + at as f64 * (measures.bar + measures.gap);
    let (zero, end) = (scale.y(0), scale.y(bar.value));
    html! {
        g {
            @if bar.value != 0 {
                title { (bar.day) ": " (bar.words) }
                rect class="bar" x=(x) y=(zero.min(end)) width=(measures.bar) height=((zero - end).abs().max(1.0)) rx="2" {}
            }
            @if measures.is_labelled(bar.day) {
                text class="tick" x=(x + measures.bar / 2.0) y=(height - 5.0) text-anchor="middle" { (bar.day) }
            }
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
        let bars = [Bar { day: 1, value: -500, words: "−5".into() }];
        let drawn = svg("x", &bars, Scale::new([-500].into_iter(), 100), &[], Measures::WIDE);
        assert!(drawn.into_string().contains("<title>1: −5</title>"));
    }

    #[test]
    fn a_whole_month_fits_a_phone() {
        assert!(Measures::NARROW.width(31) <= 320.0, "{}", Measures::NARROW.width(31));
        let bars: Vec<Bar> = (1..=31).map(|day| Bar { day, value: 1, words: String::new() }).collect();
        let drawn = svg("x", &bars, Scale::new([1].into_iter(), 1), &[], Measures::NARROW).into_string();
        assert_eq!(drawn.matches("<rect").count(), 31);
        assert_eq!(drawn.matches("<text").count(), 7, "1, 5, 10, 15, 20, 25 and 30");
    }
}
