//! The settings of schedules: a cron expression for a job, or `off`.

use opora::jobs::{Job, Schedule, ScheduleError};
use serde::{Deserialize, Serialize};

use super::SettingsReader;
use crate::config::layers::NAMES;
use crate::jobs::ConfiguredSchedules;

/// The beginning of the settings' names; the rest is the name of the job.
const PREFIX: &str = "CRON_";
/// The value that switches a schedule off.
const OFF: &str = "off";

/// Checks an expression; it never runs.
#[derive(Serialize, Deserialize)]
struct Check {}

impl Job for Check {
    const NAME: &'static str = "check";
}

/// The settings of schedules, each with the name of its job.
pub fn schedule_settings() -> impl Iterator<Item = (&'static str, String)> {
    NAMES.iter().filter_map(|setting| {
        let job = setting.strip_prefix(PREFIX)?;
        Some((*setting, job.to_lowercase().replace('_', "-")))
    })
}

impl SettingsReader<'_> {
    pub(super) fn schedules(&mut self) -> ConfiguredSchedules {
        let mut schedules = ConfiguredSchedules::new();
        for (setting, job) in schedule_settings() {
            let Some(given) = self.layers.get(setting) else { continue };
            let cron = (given.value != OFF).then(|| given.value.to_owned());
            match cron.as_deref().map(check) {
                Some(Err(mistake)) => {
                    let advice = "write minute, hour, day, month and weekday, such as `*/30 * * * *`, or off";
                    self.mistakes.push(format!("{setting} in {}: {mistake}; {advice}", given.origin));
                }
                _ => _ = schedules.insert(job, cron),
            }
        }
        schedules
    }
}

fn check(cron: &str) -> Result<(), ScheduleError> {
    Schedule::new(Check::NAME, cron, "UTC", Check {}).map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::super::{Layer, Layers};
    use super::super::Config;

    #[test]
    fn a_schedule_is_changed_or_switched_off() {
        let given = [("BOT_TOKEN", "1:secret"), ("CRON_PAYROLL", "30 5 * * *"), ("CRON_SHIFT_REMINDERS", "off")];
        let values = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let layer = Layer { origin: "a test".into(), values: values.into() };
        let config = Config::read(&Layers::new(vec![layer])).unwrap();
        let expected = [("payroll", Some("30 5 * * *")), ("shift-reminders", None)];
        let expected = expected.map(|(job, cron)| (job.to_owned(), cron.map(str::to_owned)));
        assert_eq!(config.schedules, expected.into());
    }
}
