//! Output of commands: aligned columns for people, JSON for programs.
//!
//! Control characters are removed from texts of other people, so that they cannot control the operator's terminal.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::time::Duration;

use opora::clock::{Millis, utc};
use opora::store::StateName;
use serde::Serialize;

/// Prints for people, to standard output.
pub fn say(text: &str) -> anyhow::Result<()> {
    print(&plain(text.trim_end()))
}

/// Prints to standard error, beside the requested output.
pub fn note(text: &str) {
    eprintln!("{}", plain(text));
}

fn plain(text: &str) -> String {
    text.replace(|character: char| character.is_control() && character != '\n', "\u{fffd}")
}

/// Prints JSON, for programs.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// Prints a list: JSON, a table, or the text `none` if it is empty.
pub fn list<T: Serialize>(
    rows: &[T],
    is_json: bool,
    none: &str,
    table: impl FnOnce(&[T]) -> String,
) -> anyhow::Result<()> {
    if is_json {
        json(&rows)
    } else if rows.is_empty() {
        say(none)
    } else {
        say(&table(rows))
    }
}

/// Prints a text unchanged, for programs.
pub fn exact(text: &str) -> anyhow::Result<()> {
    print(text)
}

/// Ignores a reader that has seen enough, such as `head`.
fn print(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// A table, each column as wide as its widest cell.
pub fn columns<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = line(head, widths);
    for row in rows {
        text.push_str(&line(row.each_ref().map(String::as_str), widths));
    }
    text
}

fn line<const N: usize>(cells: [&str; N], widths: [usize; N]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let _ = write!(line, "{cell:width$}  ");
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

/// A time with its distance from now.
pub fn time(at: Millis, now: Millis) -> String {
    if at > now { format!("{} (in {})", utc(at), age(now, at)) } else { format!("{} ({} ago)", utc(at), age(at, now)) }
}

/// The time from one moment to another; a dash if the first is unknown.
pub fn age(from: Millis, to: Millis) -> String {
    if from == Millis::default() {
        return "-".to_owned();
    }
    let seconds = to.since(from).as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A duration in seconds.
pub fn took(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// A number of bytes with a unit.
pub fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

/// The state in the foreground, and how many lie behind it.
pub fn states(states: &[StateName]) -> String {
    match states {
        [] => "(no dialogue)".to_owned(),
        [only] => only.to_string(),
        [front, others @ ..] => format!("{front} +{}", others.len()),
    }
}

/// The first line of a text, cut to fit a column.
pub fn short(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= LONGEST && line.len() == text.len() {
        return line.to_owned();
    }
    line.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// `1 conversation`, `2 conversations`.
pub fn counted(number: u64, of: &str) -> String {
    format!("{number} {of}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_fitting_unit() {
        for (seconds, shown) in [(0, "0 s"), (59, "59 s"), (200, "3 min"), (86_400, "24 h"), (200_000, "2 d")] {
            assert_eq!(age(Millis(5), Millis(5 + seconds * 1000)), shown);
        }
        assert_eq!(age(Millis(9000), Millis(0)), "0 s");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["1".to_owned(), "ф".to_owned()], ["1234".to_owned(), String::new()]];
        assert_eq!(columns(["ID", "NAME"], &rows), "ID    NAME\n1     ф\n1234\n");
    }

    #[test]
    fn a_conversation_without_a_dialogue_has_no_empty_place() {
        let state = |name: &str| StateName { dialogue: "shifts".into(), state: name.into() };
        assert_eq!(states(&[]), "(no dialogue)");
        assert_eq!(states(&[state("day"), state("slot")]), "shifts:day +1");
    }

    #[test]
    fn sizes_and_long_texts_are_shortened() {
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 << 20), "5.0 MiB");
        assert_eq!(short("one\ntwo"), "one…");
        assert_eq!(short(&"x".repeat(61)).chars().count(), 60);
    }
}
