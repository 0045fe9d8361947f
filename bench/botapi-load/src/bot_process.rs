//! The bot as a process: started, watched, killed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::harness::Harness;
use crate::processes;

/// The bot of `--bot-cmd`; without that option, a bot that is started elsewhere.
#[derive(Debug)]
pub struct BotProcess {
    harness: Arc<Harness>,
    api_url: String,
    child: Option<Child>,
}

impl BotProcess {
    pub fn start(harness: Arc<Harness>, api_url: String) -> io::Result<Self> {
        let mut bot = Self { harness, api_url, child: None };
        bot.restart()?;
        Ok(bot)
    }

    /// Whether it was started here.
    pub fn is_ours(&self) -> bool {
        self.child.is_some()
    }

    pub fn restart(&mut self) -> io::Result<()> {
        let options = &self.harness.options;
        let Some(program) = &options.bot_cmd else { return Ok(()) };
        let log = open_log(&options.bot_log)?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(program).env("TOKEN", &options.token).env("API_URL", &self.api_url);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // A session of its own, as a service would have: the scheduler's autogroup gives it its own share.
        // SAFETY: `setsid` is safe to call between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                Ok(())
            });
        }
        let child = command.spawn()?;
        self.harness.process_group.store(child.id().cast_signed(), Relaxed);
        self.child = Some(child);
        Ok(())
    }

    /// The exit status, if the bot has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok().flatten()
    }

    pub fn group(&self) -> i32 {
        self.harness.process_group.load(Relaxed)
    }

    /// kill -9 of its whole process group.
    pub fn kill_group(&self) {
        processes::kill_group(self.group());
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) {
        if let Some(child) = &mut self.child {
            // It was killed: how it ended tells nothing.
            let _ = child.wait();
        }
    }
}

fn open_log(path: &str) -> io::Result<File> {
    let log = OpenOptions::new().create(true).append(true).open(path);
    log.map_err(|error| io::Error::new(error.kind(), format!("cannot open the bot's log {path}: {error}")))
}
