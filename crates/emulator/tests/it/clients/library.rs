//! What the libraries do differently: how a bot is started, how errors are sorted, which old parameters are sent.

use std::path::Path;

use tokio::process::Command;

use super::walk::refusals::Refusal;
use crate::environment;

pub struct Library {
    pub name: &'static str,
    /// The command that starts its bot.
    pub command: fn() -> Command,
    /// The library's own name for what a refusal becomes.
    pub sorted: fn(&Refusal) -> String,
    /// Parameters of older versions of the Bot API that it still sends: the complaint, and why it is right to pass it.
    pub outdated: &'static [(&'static str, &'static str)],
}

pub static AIOGRAM: Library = Library {
    name: "aiogram",
    command: || python("aiogram_walk.py"),
    sorted: |refusal| {
        let name = match refusal.status {
            401 => "TelegramUnauthorizedError",
            403 => "TelegramForbiddenError",
            404 => "TelegramNotFound",
            _ => "TelegramBadRequest",
        };
        name.to_owned()
    },
    outdated: &[],
};

pub static PYTHON_TELEGRAM_BOT: Library = Library {
    name: "python-telegram-bot",
    command: || python("ptb_walk.py"),
    sorted: |refusal| {
        let name = match refusal.status {
            401 => "InvalidToken",
            403 => "Forbidden",
            404 => "EndPointNotFound",
            _ => "BadRequest",
        };
        name.to_owned()
    },
    outdated: &[],
};

pub static GRAMMY: Library = Library {
    name: "grammY",
    command: || node("grammy_walk.js"),
    sorted: |refusal| format!("GrammyError {}", refusal.status),
    outdated: &[],
};

pub static TELEGRAF: Library = Library {
    name: "Telegraf",
    command: || node("telegraf_walk.js"),
    sorted: |refusal| format!("TelegramError {}", refusal.status),
    outdated: &[],
};

pub static TELOXIDE: Library = Library {
    name: "teloxide",
    command: || Command::new(environment::teloxide()),
    sorted: |refusal| refusal.in_teloxide.to_owned(),
    outdated: &[],
};

fn python(script: &str) -> Command {
    let mut command = Command::new(environment::python());
    // What Python compiles would lie beside the script, in the source tree.
    command.arg("-B").arg(path(script));
    command
}

fn node(script: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(path(script)).env("NODE_PATH", environment::node_path());
    command
}

/// A file beside the bots' scripts.
pub fn path(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}
