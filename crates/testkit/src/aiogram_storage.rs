//! Runs the real aiogram, which writes and reads its storage, as a process.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::environment;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/aiogram_storage.py");

/// Runs `aiogram_storage.py`. Returns the lines that it printed.
pub fn aiogram(arguments: &[&str], input: &str) -> Vec<String> {
    assert!(Path::new(SCRIPT).is_file());
    let mut command = Command::new(environment::python());
    // -B: no compiled files beside the script in the source tree.
    command.args(["-B", SCRIPT]).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
