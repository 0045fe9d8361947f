//! What an open shift would pay, to be said before staff close it.

use opora::clock::Millis;
use sea_orm::DbErr;

use super::rules::{PayRules, shift_adjustments};
use super::{Shift, ShiftTask, Shifts};
use crate::money::{Money, PaidHours};
use crate::payroll::Basis;
use crate::settings;
use crate::sites::Site;

/// The pay of a shift that ends at a certain time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpectedPay {
    pub hours: PaidHours,
    pub total: Money,
}

impl Shifts {
    /// What a shift pays if it ends at each of these times, by today's settings and the tasks that are done now.
    pub async fn expected_pay(
        &self,
        shift: &Shift,
        tasks: &[ShiftTask],
        site: &Site,
        ends: &[Millis],
    ) -> Result<Vec<ExpectedPay>, DbErr> {
        let paid_time = settings::paid_time_rules(self.db()).await?;
        let rules = PayRules { mandatory_task_penalty: self.mandatory_task_penalty().await?, paid_time };
        let pay = |end: &Millis| {
            let lines = shift_adjustments(shift, tasks, *end, site, rules);
            ExpectedPay::of_lines(lines.iter().map(|line| (line.amount, &line.basis)))
        };
        Ok(ends.iter().map(pay).collect())
    }
}

impl ExpectedPay {
    /// The sum of adjustments.
    pub fn of_lines<'a>(lines: impl Iterator<Item = (Money, &'a Basis)>) -> Self {
        let add = |sum: Self, (amount, basis): (Money, &Basis)| Self {
            hours: if let Basis::Hours { hours, .. } = basis { *hours } else { sum.hours },
            total: sum.total + amount,
        };
        lines.fold(Self::default(), add)
    }
}
