//! Coordinates as text: `55.7558, 37.6173`, `55,7558 37,6173`, `55°45′21″N 37°37′2″E`, `55,7558 с.ш. 37,6173 в.д.`

use super::position;
use crate::sites::rules::Position;

/// A part of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Number { value: f64, is_negative: bool },
    Degree,
    Direction(Direction),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    North,
    South,
    East,
    West,
}

/// Words that mean a direction, in upper case.
const WORDS: [(&str, Direction); 28] = [
    ("N", Direction::North),
    ("S", Direction::South),
    ("E", Direction::East),
    ("W", Direction::West),
    ("С.Ш.", Direction::North),
    ("С.Ш", Direction::North),
    ("СШ", Direction::North),
    ("С", Direction::North),
    ("Ю.Ш.", Direction::South),
    ("Ю.Ш", Direction::South),
    ("ЮШ", Direction::South),
    ("Ю", Direction::South),
    ("В.Д.", Direction::East),
    ("В.Д", Direction::East),
    ("ВД", Direction::East),
    ("В", Direction::East),
    ("З.Д.", Direction::West),
    ("З.Д", Direction::West),
    ("ЗД", Direction::West),
    ("З", Direction::West),
    ("LAT", Direction::North),
    ("LATITUDE", Direction::North),
    ("ШИРОТА", Direction::North),
    ("LON", Direction::East),
    ("LNG", Direction::East),
    ("LONG", Direction::East),
    ("LONGITUDE", Direction::East),
    ("ДОЛГОТА", Direction::East),
];

/// Reads a latitude and a longitude, in this order unless the text names them.
pub fn read(text: &str) -> Option<Position> {
    // `55,75` is more likely one number than two.
    let is_one_number = !text.contains(['.', ' ', ';']) && text.matches(',').count() == 1;
    if is_one_number {
        return None;
    }
    // A comma separates two numbers, unless that makes too many of them; then it is a decimal comma.
    read_with(text, false).or_else(|| read_with(text, true))
}

fn read_with(text: &str, has_decimal_commas: bool) -> Option<Position> {
    let tokens = tokens(text, has_decimal_commas)?;
    let [one, other] = coordinates(&tokens)?;
    match (one.1, other.1) {
        (None, None) => position(one.0, other.0),
        (Some(first), Some(second)) if first.is_latitude() && !second.is_latitude() => position(one.0, other.0),
        (Some(first), Some(second)) if !first.is_latitude() && second.is_latitude() => position(other.0, one.0),
        _ => None,
    }
}

/// Splits the text; None if it has something that belongs to no coordinates.
fn tokens(text: &str, has_decimal_commas: bool) -> Option<Vec<Token>> {
    let characters: Vec<char> = text.to_uppercase().replace(". ", ".").chars().collect();
    let (mut found, mut at, mut is_negative) = (Vec::new(), 0, false);
    while let Some(&character) = characters.get(at) {
        let start = at;
        at += 1;
        match character {
            '0'..='9' => {
                let is_point = |c: char| c == '.' || (has_decimal_commas && c == ',');
                let digits = |from: usize| characters.iter().skip(from).take_while(|c| c.is_ascii_digit()).count();
                at = start + digits(start);
                let decimals = digits(at + 1);
                if characters.get(at).is_some_and(|c| is_point(*c)) && decimals > 0 {
                    at += 1 + decimals;
                }
                let number: String =
                    characters.get(start..at)?.iter().map(|c| if *c == ',' { '.' } else { *c }).collect();
                found.push(Token::Number { value: number.parse().ok()?, is_negative });
                is_negative = false;
            }
            '-' | '−' | '–' if characters.get(at).is_some_and(char::is_ascii_digit) => is_negative = true,
            '°' | 'º' | '˚' => found.push(Token::Degree),
            '\'' | '′' | '’' | '‘' | '"' | '″' | '”' | '“' | ',' | ';' | '/' | ':' | '=' | '(' | ')' => {}
            character if character.is_whitespace() => {}
            character if character.is_alphabetic() => {
                let is_word = |c: &&char| c.is_alphabetic() || **c == '.';
                at = start + characters.iter().skip(start).take_while(is_word).count();
                let word: String = characters.get(start..at)?.iter().collect();
                let direction = WORDS.iter().find(|(name, _)| *name == word).map(|(_, direction)| *direction)?;
                found.push(Token::Direction(direction));
            }
            _ => return None,
        }
    }
    Some(found)
}

type Coordinate = (f64, Option<Direction>);

/// Splits tokens into two coordinates: before or after directions, at degree signs, or simply two numbers.
fn coordinates(tokens: &[Token]) -> Option<[Coordinate; 2]> {
    let at = |is: fn(&Token) -> bool| -> Vec<usize> {
        tokens.iter().enumerate().filter(|(_, token)| is(token)).map(|(at, _)| at).collect()
    };
    let directions = at(|token| matches!(token, Token::Direction(_)));
    let degrees = at(|token| *token == Token::Degree);
    let split = match (directions.as_slice(), degrees.as_slice()) {
        ([0, second], _) => *second,
        ([first, last], _) if last + 1 == tokens.len() => first + 1,
        // The number before a degree sign begins a coordinate.
        ([], [_, second]) => second.checked_sub(1)?,
        ([], []) if tokens.len() == 2 => 1,
        _ => return None,
    };
    let (one, other) = (tokens.get(..split)?, tokens.get(split..)?);
    Some([coordinate(one)?, coordinate(other)?])
}

/// Degrees, minutes and seconds with an optional direction.
fn coordinate(tokens: &[Token]) -> Option<Coordinate> {
    let (mut total, mut unit, mut is_negative, mut direction) = (0.0, 1.0, false, None);
    for token in tokens {
        match *token {
            Token::Number { value, is_negative: has_minus } => {
                let is_first = unit == 1.0;
                // Only degrees have a sign, and there are three parts at most.
                if (!is_first && (has_minus || value >= 60.0)) || unit > 3600.0 {
                    return None;
                }
                is_negative |= has_minus;
                total += value / unit;
                unit *= 60.0;
            }
            Token::Degree => {}
            Token::Direction(one) if direction.is_none() => direction = Some(one),
            Token::Direction(_) => return None,
        }
    }
    let is_negative = is_negative || matches!(direction, Some(Direction::South | Direction::West));
    (unit > 1.0).then_some((if is_negative { -total } else { total }, direction))
}

impl Direction {
    const fn is_latitude(self) -> bool {
        matches!(self, Self::North | Self::South)
    }
}
