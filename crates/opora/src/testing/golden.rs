//! Golden files: every released form of a state must still load.
//!
//! The application's repository has a file with the stored JSON of each state of each version. A change that would make
//! stored states unreadable then fails a test. No store is read.

use std::fmt::{self, Debug, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use crate::dialogue::{Dialogue, States};

/// All problems found in golden files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GoldenError(Vec<String>);

impl fmt::Display for GoldenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::from("stored states would be lost:");
        for what in &self.0 {
            let _ = write!(text, "\n- {what}");
        }
        f.write_str(&text)
    }
}

impl std::error::Error for GoldenError {}

/// Compares samples of all states with their files, and loads the files of all versions through the dialogue's upcasts.
///
/// A file is `<dialogue>/v<version>/<state>.json` below `directory`; a second sample of a state is `<state>-2.json`,
/// and so on. `write_missing` writes missing files of the current version and changes no existing ones: set it on a
/// developer's machine, and not on the build server.
///
/// # Panics
/// With all problems: a state without a sample, a sample without a file, a sample that is stored differently now (raise
/// the version and add an upcast), a file that does not load.
#[track_caller]
pub fn check<S: States + Debug>(
    dialogue: &Dialogue<S>,
    directory: impl AsRef<Path>,
    samples: &[S],
    write_missing: bool,
) {
    if let Err(broken) = try_check(dialogue, directory.as_ref(), samples, write_missing) {
        panic!("{broken}");
    }
}

/// Like [`check`], but returns the problems as an error.
pub fn try_check<S: States + Debug>(
    dialogue: &Dialogue<S>,
    directory: &Path,
    samples: &[S],
    write_missing: bool,
) -> Result<(), GoldenError> {
    let mut wrong = Vec::new();
    let all = directory.join(S::DIALOGUE);
    let current = all.join(format!("v{}", S::VERSION));
    for state in S::NAMES.iter().filter(|name| !samples.iter().any(|sample| sample.name() == **name)) {
        wrong.push(format!("there is no sample of state `{state}`"));
    }
    let mut counts = std::collections::HashMap::<&str, usize>::new();
    for sample in samples {
        let count = counts.entry(sample.name()).or_default();
        *count += 1;
        let number = if *count == 1 { String::new() } else { format!("-{count}") };
        let path = current.join(format!("{}{number}.json", sample.name()));
        if let Err(reason) = compare(sample, &path, write_missing) {
            wrong.push(reason);
        }
    }
    load_all(dialogue, &all, &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(GoldenError(wrong)) }
}

fn compare<S: States + Debug>(sample: &S, path: &Path, write_missing: bool) -> Result<(), String> {
    let now = serde_json::to_value(sample).map_err(|error| format!("{sample:?} cannot be written: {error}"))?;
    let shown = path.display();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && write_missing => {
            return write(path, &now).map_err(|error| format!("{shown} cannot be written: {error}"));
        }
        Err(error) => return Err(format!("{shown} cannot be read: {error}")),
    };
    let before: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("{shown} is not JSON: {error}"))?;
    if before == now {
        return Ok(());
    }
    let next = S::VERSION + 1;
    Err(format!("{shown} is stored as {now} now; set `version = {next}` and add `.upcast({}, …)`", S::VERSION))
}

fn write(path: &Path, value: &serde_json::Value) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(path, format!("{value:#}\n"))
}

fn load_all<S: States>(dialogue: &Dialogue<S>, all: &Path, wrong: &mut Vec<String>) {
    for folder in entries(all) {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(version) = name.strip_prefix('v').and_then(|number| number.parse().ok()) else { continue };
        for file in entries(&folder).into_iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
            let loaded = fs::read_to_string(&file).map_err(Into::into).and_then(|text| {
                let stored = RawValue::from_string(text.trim().to_owned())?;
                dialogue.load(&stored, version)
            });
            if let Err(error) = loaded {
                wrong.push(format!("{} does not load any more: {error}", file.display()));
            }
        }
    }
}

/// The sorted entries of a directory; empty if it does not exist.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[derive(Clone, Debug, Serialize, Deserialize, States)]
    #[states(dialogue = "form")]
    enum First {
        Name,
        Age { name: String },
    }

    #[derive(Clone, Debug, Serialize, Deserialize, States)]
    #[states(dialogue = "form")]
    enum Changed {
        Name,
        Age { full_name: String },
    }

    #[derive(Clone, Debug, Serialize, Deserialize, States)]
    #[states(dialogue = "form", version = 2)]
    enum Second {
        Name,
        Age { full_name: String },
    }

    fn first() -> Vec<First> {
        vec![First::Name, First::Age { name: "Anna".into() }, First::Age { name: String::new() }]
    }

    #[test]
    fn files_are_written_once_and_then_compared() {
        let directory = tempfile::tempdir().unwrap();
        let missing = try_check(&Dialogue::new(), directory.path(), &first(), false).unwrap_err().to_string();
        assert_eq!(missing.matches("cannot be read").count(), 3, "{missing}");
        check(&Dialogue::new(), directory.path(), &first(), true);
        check(&Dialogue::new(), directory.path(), &first(), false);
        assert!(directory.path().join("form/v1/age-2.json").exists());
        let few = try_check(&Dialogue::new(), directory.path(), &[First::Name], false).unwrap_err();
        assert_eq!(few.0, ["there is no sample of state `age`"]);
    }

    #[test]
    fn a_changed_shape_needs_a_version_and_an_upcast() {
        let directory = tempfile::tempdir().unwrap();
        check(&Dialogue::new(), directory.path(), &first(), true);
        let samples = [Changed::Name, Changed::Age { full_name: "Anna".into() }];
        let message = try_check(&Dialogue::new(), directory.path(), &samples, true).unwrap_err().to_string();
        assert!(message.contains("set `version = 2` and add `.upcast(1, …)`"), "{message}");

        let samples = [Second::Name, Second::Age { full_name: "Anna".into() }];
        let message = try_check(&Dialogue::new(), directory.path(), &samples, true).unwrap_err().to_string();
        assert!(message.contains("does not load any more: there is no upcast from version 1"), "{message}");
        let brought_up = Dialogue::new().upcast(1, |mut value| {
            if let Some(age) = value.get_mut("Age") {
                *age = serde_json::json!({"full_name": age["name"]});
            }
            Ok(value)
        });
        check(&brought_up, directory.path(), &samples, true);
    }
}
