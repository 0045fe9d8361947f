//! What the libraries do differently: how a bot is started, how errors are sorted, which unnecessary parameters they
//! send.

use std::path::Path;

use opora_testkit::environment;
use tokio::process::Command;

use super::walk::refusals::Refusal;

pub struct Library {
    pub name: &'static str,
    /// The command that starts its bot.
    pub command: fn() -> Command,
    /// The name of the library's error for a refusal.
    pub error_name: fn(&Refusal) -> String,
    /// Complaints about parameters that Telegram ignores, and why the library sends them.
    pub superfluous: &'static [(&'static str, &'static str)],
}

pub static AIOGRAM: Library = Library {
    name: "aiogram",
    command: || python("aiogram_walk.py"),
    error_name: |refusal| {
        let name = match refusal.status {
            401 => "TelegramUnauthorizedError",
            403 => "TelegramForbiddenError",
            404 => "TelegramNotFound",
            _ => "TelegramBadRequest",
        };
        name.to_owned()
    },
    superfluous: &[],
};

pub static PYTHON_TELEGRAM_BOT: Library = Library {
    name: "python-telegram-bot",
    command: || python("ptb_walk.py"),
    error_name: |refusal| {
        let name = match refusal.status {
            401 => "InvalidToken",
            403 => "Forbidden",
            404 => "EndPointNotFound",
            _ => "BadRequest",
        };
        name.to_owned()
    },
    superfluous: &[],
};

pub static GRAMMY: Library = Library {
    name: "grammY",
    command: || node("grammy_walk.js"),
    error_name: |refusal| format!("GrammyError {}", refusal.status),
    superfluous: &[],
};

pub static TELEGRAF: Library = Library {
    name: "Telegraf",
    command: || node("telegraf_walk.js"),
    error_name: |refusal| format!("TelegramError {}", refusal.status),
    superfluous: &[(
        "unknown parameter \"method\"",
        "it builds a call with files as it builds the answer to a webhook, where the method is named inside",
    )],
};

pub static TELOXIDE: Library = Library {
    name: "teloxide",
    command: || Command::new(environment::teloxide_bot()),
    error_name: |refusal| refusal.in_teloxide.to_owned(),
    superfluous: &[],
};

fn python(script: &str) -> Command {
    let mut command = Command::new(environment::python());
    // Without -B Python writes compiled files into the source tree.
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
