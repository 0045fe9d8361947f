//! Pay of the past: the month before is paid and closed, and the present one has a bonus and a deduction.

use chrono::{Datelike, TimeDelta};

use super::history::Team;
use super::work::localized;
use crate::application::App;
use crate::money::{Money, PayrollMonth};
use crate::texts::Language;

/// On the first days of a month the last night shifts of the month before may not be over.
const FIRST_SETTLED_DAY: u32 = 3;

pub async fn settle(app: &App, team: Team, language: Language) -> anyhow::Result<()> {
    let today = app.payroll.today().await?;
    let stock = localized(language, "Помощь с инвентаризацией", "Help with the stocktaking");
    app.payroll.add_manual(team.owner, team.second, today, Money::from_roubles(1_500), &stock).await?;
    let day = today - TimeDelta::days(1);
    let uniform = localized(language, "Новая форма", "New uniform");
    app.payroll.add_manual(team.owner, team.master, day, Money::from_roubles(-700), &uniform).await?;
    if today.day() < FIRST_SETTLED_DAY {
        return Ok(());
    }
    let month = PayrollMonth::containing(today).previous();
    for entry in app.payroll.all_of_period(month).await?.entries {
        if entry.total.is_positive() {
            app.payroll.mark_paid(team.owner, month, entry.user_id, entry.total, entry.version, false).await?;
        }
    }
    app.payroll.close_period(team.owner, month).await?;
    Ok(())
}
