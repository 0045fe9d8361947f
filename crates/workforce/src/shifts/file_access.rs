//! Who may see the files that people sent with tasks and cancellations.

use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, QueryTrait};

use super::tables::{cancellation, medium, plan, shift, task};
use crate::domain::Domain;
use crate::person::Permission;

/// The permissions that allow to see a file, with their sites: View for files of a task, Employees for those of a
/// cancellation.
pub async fn file_permissions(domain: &Domain, telegram_file: &str) -> Result<Vec<(Permission, i64)>, DbErr> {
    let sent = medium::Entity::find().filter(medium::Column::TelegramFile.eq(telegram_file));
    let tasks = sent.select_only().column(medium::Column::ShiftTaskId).into_query();
    let tasks = task::Entity::find().filter(task::Column::Id.in_subquery(tasks));
    let shifts = tasks.select_only().column(task::Column::ShiftId).into_query();
    let shifts = shift::Entity::find().filter(shift::Column::Id.in_subquery(shifts));
    let at_work = shifts.select_only().column(shift::Column::SiteId).distinct().into_tuple::<i64>();
    let proofs = cancellation::Entity::find().filter(cancellation::Column::PhotoFile.eq(telegram_file));
    let plans = proofs.select_only().column(cancellation::Column::PlanId).into_query();
    let plans = plan::Entity::find().filter(plan::Column::Id.in_subquery(plans));
    let cancelled = plans.select_only().column(plan::Column::SiteId).distinct().into_tuple::<i64>();
    let at_work = at_work.all(domain.read()).await?.into_iter().map(|site| (Permission::View, site));
    let cancelled = cancelled.all(domain.read()).await?.into_iter().map(|site| (Permission::Employees, site));
    Ok(at_work.chain(cancelled).collect())
}
