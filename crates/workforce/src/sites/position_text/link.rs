//! Links to maps: Yandex, Google, OpenStreetMap, 2GIS, Apple, and `geo:`.

use super::{PositionMistake, position};
use crate::sites::rules::Position;

/// Beginnings of shortened links, without the scheme.
const SHORT: [&str; 8] =
    ["maps.app.goo.gl/", "goo.gl/", "go.2gis.com/", "osm.org/go/", "ya.cc/", "clck.ru/", "bit.ly/", "maps.apple/"];
/// Part of a shortened Yandex link: `yandex.ru/maps/-/CDabc`.
const SHORT_YANDEX: &str = "/maps/-/";

/// The order of two numbers in a link.
#[derive(Clone, Copy)]
enum Order {
    LatitudeFirst,
    LongitudeFirst,
}

/// Reads a link; None if the text is none.
pub fn read(text: &str) -> Option<Result<Position, PositionMistake>> {
    if let Some(rest) = strip(text, "geo:") {
        return Some(geo(rest).ok_or(PositionMistake::LinkWithoutPosition));
    }
    let rest = strip(text, "https://").or_else(|| strip(text, "http://"));
    let rest = rest.or_else(|| is_map_host(host(text)).then_some(text))?;
    let rest = strip(rest, "www.").unwrap_or(rest);
    if SHORT.iter().any(|short| strip(rest, short).is_some()) || rest.contains(SHORT_YANDEX) {
        return Some(Err(PositionMistake::ShortLink));
    }
    let decoded = decoded(rest);
    Some(of_map(host(rest), &decoded).ok_or(PositionMistake::LinkWithoutPosition))
}

fn of_map(host: &str, link: &str) -> Option<Position> {
    use Order::{LatitudeFirst, LongitudeFirst};
    let value = |name, order| value(link, name).and_then(|pair| pair_at(pair, order));
    if host.contains("yandex.") || host == "ya.ru" {
        // A marked point says more than the middle of the map.
        let marked = ["pt", "whatshere[point]", "poi[point]"].iter().find_map(|name| value(name, LongitudeFirst));
        return marked.or_else(|| value("text", LatitudeFirst)).or_else(|| value("ll", LongitudeFirst));
    }
    if host.contains("2gis.") {
        let marked = link
            .split(['/', '?'])
            .skip_while(|part| *part != "geo")
            .skip(1)
            .find_map(|part| pair_at(part, LongitudeFirst));
        return marked.or_else(|| value("m", LongitudeFirst));
    }
    if host.contains("openstreetmap.") || host == "osm.org" {
        return marker(link).or_else(|| map_fragment(link));
    }
    if host.contains("google.") || host.contains("apple.com") {
        let names = ["q", "query", "ll", "coordinate", "daddr", "destination"];
        let named = names.iter().find_map(|name| value(name, LatitudeFirst));
        let path = || link.split('/').find_map(|part| pair_at(part.split('?').next()?, LatitudeFirst));
        let viewed = || link.split_once('@').and_then(|(_, rest)| pair_at(rest, LatitudeFirst));
        return place(link).or(named).or_else(path).or_else(viewed);
    }
    None
}

/// `geo:55.75,37.61?q=55.75,37.61(Office)`. The marked point is in `q`, if there is one.
fn geo(rest: &str) -> Option<Position> {
    let decoded = decoded(rest);
    let marked = value(&decoded, "q").and_then(|pair| pair_at(pair, Order::LatitudeFirst));
    marked.or_else(|| pair_at(&decoded, Order::LatitudeFirst))
}

/// `!3d55.75!4d37.61`: the place itself in a link of Google.
fn place(link: &str) -> Option<Position> {
    let number = |mark: &str| number(link.split_once(mark)?.1).map(|(number, _)| number);
    position(number("!3d")?, number("!4d")?)
}

/// `mlat=55.75&mlon=37.61`.
fn marker(link: &str) -> Option<Position> {
    position(number(value(link, "mlat")?)?.0, number(value(link, "mlon")?)?.0)
}

/// `#map=18/55.75/37.61`.
fn map_fragment(link: &str) -> Option<Position> {
    let (_, fragment) = link.split_once("map=")?;
    let mut parts = fragment.split('/').skip(1);
    position(number(parts.next()?)?.0, number(parts.next()?)?.0)
}

/// The value of a parameter in the query or the fragment.
fn value<'a>(link: &'a str, name: &str) -> Option<&'a str> {
    let pairs = link.split(['?', '&', '#']).skip(1);
    pairs.filter_map(|pair| pair.split_once('=')).find(|(one, _)| *one == name).map(|(_, value)| value)
}

/// Two numbers at the beginning of a text, separated by a comma.
fn pair_at(text: &str, order: Order) -> Option<Position> {
    let (one, rest) = number(text.trim_start())?;
    let (other, _) = number(rest.trim_start().strip_prefix(',')?.trim_start())?;
    match order {
        Order::LatitudeFirst => position(one, other),
        Order::LongitudeFirst => position(other, one),
    }
}

/// A number at the beginning of a text, and the rest.
fn number(text: &str) -> Option<(f64, &str)> {
    let is_part = |(at, c): (usize, char)| c.is_ascii_digit() || c == '.' || (at == 0 && c == '-');
    let end = text.char_indices().find(|one| !is_part(*one)).map_or(text.len(), |(at, _)| at);
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

fn host(link: &str) -> &str {
    link.split(['/', '?', '#']).next().unwrap_or_default()
}

fn is_map_host(host: &str) -> bool {
    let names =
        ["yandex.", "google.", "2gis.", "openstreetmap.org", "osm.org", "goo.gl", "maps.apple.com", "ya.cc", "clck.ru"];
    names.iter().any(|name| host.contains(name))
}

/// The link without percent-encoding. Text that is encoded wrongly becomes replacement characters.
fn decoded(link: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(link.len()), link.as_bytes());
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.filter(|_| *first == b'%').and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).replace('+', " ")
}

/// The text after a beginning, in any case of letters.
fn strip<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(beginning.len())?;
    start.eq_ignore_ascii_case(beginning).then_some(rest)
}
