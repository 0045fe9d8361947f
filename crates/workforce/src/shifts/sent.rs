//! Files that people sent with tasks and reasons: those that are not fetched yet because nobody wrote down that they are to
//! be, and who may see one.

use opora::clock::Millis;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, QueryTrait};

use super::tables::{cancellation, medium, plan, shift, task};
use crate::attachments;
use crate::domain::Domain;
use crate::sites::Permission;

/// How many are found at once; the others follow.
const AT_ONCE: u64 = 200;

/// Files since this moment of which attachments know nothing. An instance of an older version, which worked beside this one
/// during an update, has taken them.
pub async fn unknown_files(domain: &Domain, since: Millis) -> Result<Vec<String>, DbErr> {
    let of_task = Expr::col((medium::Entity, medium::Column::TelegramFile));
    let media = medium::Entity::find()
        .filter(medium::Column::CreatedAt.gte(since.0))
        .filter(attachments::is_unknown(of_task))
        .select_only()
        .column(medium::Column::TelegramFile);
    let of_reason = Expr::col((cancellation::Entity, cancellation::Column::PhotoFile));
    let photos = cancellation::Entity::find()
        .filter(cancellation::Column::CancelledAt.gte(since.0))
        .filter(cancellation::Column::PhotoFile.is_not_null())
        .filter(attachments::is_unknown(of_reason))
        .select_only()
        .column(cancellation::Column::PhotoFile);
    let mut files: Vec<String> = media.limit(AT_ONCE).into_tuple().all(domain.read()).await?;
    files.extend(photos.limit(AT_ONCE).into_tuple::<String>().all(domain.read()).await?);
    Ok(files)
}

/// With which permission for which site a file is seen: a picture of a task by all who see the site, what proves a reason
/// by those who judge it.
pub async fn seen_with(domain: &Domain, telegram_file: &str) -> Result<Vec<(Permission, i64)>, DbErr> {
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
