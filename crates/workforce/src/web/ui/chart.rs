//! Bar charts: a picture with a scale of round numbers, and the same values as a table. Negative values go down from
//! zero. The picture is drawn twice, for desktops and for phones; the style sheet shows the one that fits.

use maud::{Markup, html};

use super::{Column, Icon, table};

const HEIGHT: f64 = 170.0;
/// Space for the captions of the bars.
const FOOT: f64 = 20.0;
/// The highest number of the scale needs space above.
const HEAD: f64 = 8.0;
const MAX_LINES: i64 = 5;
/// A chart with more bars has a caption for the first bar and for every fifth one on phones.
const MAX_NARROW_CAPTIONS: usize = 12;

/// A bar: its caption, and its value as a number and as text.
#[derive(Clone, Debug)]
pub struct Bar {
    pub caption: String,
    pub value: i64,
    pub text: String,
}

/// A chart of bars.
#[expect(missing_debug_implementations, reason = "the closure has none")]
#[derive(Clone, Copy)]
pub struct Chart<'a> {
    /// Unique within the page; also the test id of the table.
    pub id: &'a str,
    /// What the picture shows, for people who do not see it.
    pub label: &'a str,
    pub bars: &'a [Bar],
    /// The smallest step of the scale.
    pub unit: i64,
    /// A number of the scale as text.
    pub mark: &'a dyn Fn(i64) -> String,
    /// Caption of the fold with the table, and the titles of its two columns.
    pub table: [&'a str; 3],
}

/// The measures of a picture.
#[derive(Clone, Copy, Debug)]
struct Measures {
    class: &'static str,
    bar: f64,
    gap: f64,
    /// Space for the numbers of the scale.
    side: f64,
    /// Whether only some bars have a caption.
    is_narrow: bool,
}

/// The range of the values, and the distance between the lines: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    bottom: i64,
    top: i64,
    step: i64,
}

impl Chart<'_> {
    pub fn render(self) -> Markup {
        let scale = Scale::new(self.bars.iter().map(|bar| bar.value), self.unit);
        html! {
            @for measures in [Measures::WIDE, Measures::NARROW] { (self.picture(scale, measures)) }
            (self.values())
        }
    }

    /// The picture. Screen readers get its label only, because a table has the values.
    fn picture(self, scale: Scale, measures: Measures) -> Markup {
        let (side, width, height) = (measures.side, measures.width(self.bars.len()), HEAD + HEIGHT + FOOT);
        html! {
            svg class={ "chart-picture " (measures.class) } role="img" aria-label=(self.label)
                viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
                @for value in scale.marks() {
                    line class={ "scale" @if value == 0 { " zero" } } x1=(side) x2=(width) y1=(scale.y(value)) y2=(scale.y(value)) {}
                    text class="tick" x=(side - 8.0) y=(scale.y(value) + 4.0) text-anchor="end" { ((self.mark)(value)) }
                }
                @for (at, bar) in self.bars.iter().enumerate() { (self.bar(at, bar, scale, measures)) }
            }
        }
    }

    fn bar(self, at: usize, bar: &Bar, scale: Scale, measures: Measures) -> Markup {
        let x = measures.side + measures.gap / 2.0 + at as f64 * (measures.bar + measures.gap);
        let (zero, end) = (scale.y(0), scale.y(bar.value));
        html! {
            g {
                @if bar.value != 0 {
                    title { (bar.caption) ": " (bar.text) }
                    rect class="bar" x=(x) y=(zero.min(end)) width=(measures.bar) height=((zero - end).abs().max(1.0)) rx="2" {}
                }
                @if measures.has_caption(at, self.bars.len()) {
                    text class="tick" x=(x + measures.bar / 2.0) y=(HEAD + HEIGHT + FOOT - 5.0) text-anchor="middle" { (bar.caption) }
                }
            }
        }
    }

    /// The values as a table, without zeros.
    fn values(self) -> Markup {
        let [caption, bar_title, value_title] = self.table;
        let columns = [Column::text(bar_title.to_owned()), Column::amount(value_title.to_owned())];
        let shown = self.bars.iter().filter(|bar| bar.value != 0);
        let rows: Vec<Vec<Markup>> = shown.map(|bar| vec![html! { (bar.caption) }, html! { (bar.text) }]).collect();
        html! {
            details.chart-values {
                summary { (Icon::List.svg()) (caption) }
                (table(self.id, &columns, &rows))
            }
        }
    }
}

impl Measures {
    const WIDE: Self = Self { class: "wide", bar: 22.0, gap: 7.0, side: 78.0, is_narrow: false };
    /// A whole month on a phone.
    const NARROW: Self = Self { class: "narrow-chart", bar: 6.0, gap: 2.0, side: 62.0, is_narrow: true };

    fn width(self, bars: usize) -> f64 {
        self.side + bars as f64 * (self.bar + self.gap)
    }

    const fn has_caption(self, at: usize, bars: usize) -> bool {
        !self.is_narrow || bars <= MAX_NARROW_CAPTIONS || at == 0 || (at + 1).is_multiple_of(5)
    }
}

impl Scale {
    /// A scale that includes zero, with steps not smaller than the unit.
    fn new(values: impl Iterator<Item = i64>, unit: i64) -> Self {
        let (lowest, highest) = values.fold((0, 0), |(lowest, highest), value| (value.min(lowest), value.max(highest)));
        let span = (highest - lowest).max(unit);
        let steps = (0..18).flat_map(|zeros| [1, 2, 5].map(|digit| unit.saturating_mul(digit * 10_i64.pow(zeros))));
        let step = steps.into_iter().find(|step| span <= step.saturating_mul(MAX_LINES)).unwrap_or(i64::MAX);
        let up = |value: i64| value.div_euclid(step) + i64::from(value.rem_euclid(step) > 0);
        let top = if highest > 0 || lowest == 0 { up(highest).max(1) * step } else { 0 };
        Self { bottom: lowest.div_euclid(step) * step, top, step }
    }

    /// The values of the lines, including zero.
    fn marks(self) -> impl Iterator<Item = i64> {
        let lines = (self.top - self.bottom) / self.step;
        (0..=lines).map(move |line| self.bottom + line * self.step)
    }

    /// The vertical coordinate of a value.
    fn y(self, value: i64) -> f64 {
        HEAD + (self.top - value) as f64 / (self.top - self.bottom) as f64 * HEIGHT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(values: &[i64], unit: i64) -> Vec<i64> {
        Scale::new(values.iter().copied(), unit).marks().collect()
    }

    fn bars(values: &[i64]) -> Vec<Bar> {
        let bar = |(at, value): (usize, &i64)| Bar {
            caption: (at + 1).to_string(),
            value: *value,
            text: format!("{value} h"),
        };
        values.iter().enumerate().map(bar).collect()
    }

    fn drawn(values: &[i64]) -> String {
        let (bars, mark) = (bars(values), |value: i64| value.to_string());
        let chart =
            Chart { id: "hours", label: "Hours", bars: &bars, unit: 1, mark: &mark, table: ["Table", "Day", "Hours"] };
        chart.render().into_string()
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
        assert!(drawn(&[-5]).contains("<title>1: -5 h</title>"));
    }

    #[test]
    fn a_whole_month_fits_a_phone() {
        assert!(Measures::NARROW.width(31) <= 320.0, "{}", Measures::NARROW.width(31));
        let month = drawn(&[1; 31]);
        let (_, narrow) = month.split_once("narrow-chart").unwrap();
        let (narrow, _) = narrow.split_once("</svg>").unwrap();
        assert_eq!(narrow.matches("<rect").count(), 31);
        assert_eq!(narrow.matches("text-anchor=\"middle\"").count(), 7, "1, 5, 10, 15, 20, 25 and 30");
    }

    #[test]
    fn the_table_has_the_values_of_the_picture() {
        let shown = drawn(&[3, 0, 8]);
        for text in ["3 h", "8 h", "<summary>"] {
            assert!(shown.contains(text), "{text}");
        }
        assert!(!shown.contains(">0 h<"), "days without a value are left out");
    }
}
