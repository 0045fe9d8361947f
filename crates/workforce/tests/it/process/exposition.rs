//! A strict reader of the text format of Prometheus: it panics at everything that `promtool check metrics` refuses.

use std::collections::{BTreeMap, BTreeSet};

/// What a scrape shows.
#[derive(Debug, Default)]
pub struct Exposition {
    pub families: BTreeMap<String, Family>,
}

/// A metric and its samples.
#[derive(Debug)]
pub struct Family {
    pub kind: String,
    pub help: String,
    pub samples: Vec<Sample>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: Vec<(String, String)>,
    pub value: f64,
}

impl Exposition {
    pub fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n') && !text.contains("\n\n") && !text.contains('\r'), "{text}");
        let mut families = BTreeMap::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let (name, help) = header(line, "# HELP ");
            let kind = header(lines.next().unwrap_or_default(), "# TYPE ");
            assert_eq!(kind.0, name, "HELP and TYPE belong together");
            let mut family = Family { kind: kind.1.to_owned(), help: help.to_owned(), samples: Vec::new() };
            while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
                family.samples.push(Sample::parse(line));
            }
            family.check(name);
            let earlier = families.insert(name.to_owned(), family);
            assert!(earlier.is_none(), "{name} comes twice");
        }
        Self { families }
    }

    /// The value of a sample, by its name and the values of its labels.
    pub fn value(&self, name: &str, labels: &[&str]) -> Option<f64> {
        let has_labels = |sample: &&Sample| sample.labels.iter().map(|(_, value)| value).eq(labels);
        let mut samples = self.families.values().flat_map(|family| &family.samples);
        samples.find(|sample| sample.name == name && has_labels(sample)).map(|sample| sample.value)
    }
}

impl Family {
    fn check(&self, name: &str) {
        assert!(!self.help.is_empty(), "{name} has no help");
        assert_eq!(self.kind == "counter", name.ends_with("_total"), "{name} is a {}", self.kind);
        let distinct: BTreeSet<_> = self.samples.iter().map(|sample| (&sample.name, &sample.labels)).collect();
        assert_eq!(distinct.len(), self.samples.len(), "{name} has a series twice");
        match &*self.kind {
            "counter" => {
                assert!(self.samples.iter().all(|sample| sample.name == name && sample.value >= 0.0), "{name}")
            }
            "gauge" => assert!(self.samples.iter().all(|sample| sample.name == name), "{name}"),
            "histogram" => self.check_histogram(name),
            other => panic!("{name} is of the unknown type {other}"),
        }
    }

    /// Every series has buckets with rising bounds and counts, then the sum, then the count of the last bucket.
    fn check_histogram(&self, name: &str) {
        let mut rest = &self.samples[..];
        while !rest.is_empty() {
            let count = rest.iter().take_while(|sample| sample.name == format!("{name}_bucket")).count();
            let (buckets, after) = rest.split_at(count);
            let (totals, others) = after.split_at(2);
            let (bounds, counts): (Vec<_>, Vec<_>) = buckets.iter().map(|one| (one.bound(), one.value)).unzip();
            assert!(bounds.is_sorted_by(|one, next| one < next) && counts.is_sorted(), "{buckets:?}");
            assert_eq!(bounds.last(), Some(&f64::INFINITY), "{buckets:?}");
            let names = [format!("{name}_sum"), format!("{name}_count")];
            assert!(totals.iter().map(|total| &total.name).eq(&names), "{totals:?}");
            assert_eq!(counts.last(), Some(&totals[1].value), "{totals:?}");
            assert!(buckets.iter().all(|bucket| bucket.labels.starts_with(&totals[0].labels)), "{buckets:?}");
            assert_eq!(totals[0].labels, totals[1].labels);
            rest = others;
        }
    }
}

impl Sample {
    /// `name{label="value",…} number`
    fn parse(line: &str) -> Self {
        let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("no value in {line:?}"));
        let (name, mut rest) = line.split_at(end);
        assert!(is_name(name), "{line}");
        let mut labels = Vec::new();
        while !rest.starts_with(' ') {
            let (label, value) = rest[1..].split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(is_name(label) && !label.contains(':'), "{line}");
            let (value, after) = quoted(value);
            labels.push((label.to_owned(), value));
            rest = after.strip_prefix('}').unwrap_or(after);
            assert!(rest.starts_with([',', ' ']), "{line}");
        }
        Self { name: name.to_owned(), labels, value: number(&rest[1..]) }
    }

    fn bound(&self) -> f64 {
        let (label, bound) = self.labels.last().unwrap();
        assert_eq!(label, "le");
        number(bound)
    }
}

fn header<'l>(line: &'l str, start: &str) -> (&'l str, &'l str) {
    let parts = line.strip_prefix(start).and_then(|rest| rest.split_once(' '));
    let (name, rest) = parts.unwrap_or_else(|| panic!("{line:?} does not begin with {start:?}"));
    assert!(is_name(name), "{line}");
    (name, rest)
}

/// The text up to the closing quote, without escapes, and the text after the quote.
fn quoted(text: &str) -> (String, &str) {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.push(match chars.next() {
                Some((_, 'n')) => '\n',
                Some((_, c @ ('\\' | '"'))) => c,
                other => panic!("the escape {other:?} in {text}"),
            }),
            c => value.push(c),
        }
    }
    panic!("no closing quote in {text}")
}

fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || b"_:".contains(&byte);
    text.bytes().next().is_some_and(is_letter) && text.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        "NaN" => f64::NAN,
        digits => {
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || b".-+eE".contains(&byte));
            assert!(is_plain, "{digits:?} is not a number");
            digits.parse().unwrap_or_else(|_| panic!("{digits:?} is not a number"))
        }
    }
}
