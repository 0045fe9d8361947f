//! What people sent that is not fetched yet because nobody wrote down that it is to be.

use opora::clock::Millis;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect};

use super::tables::{cancellation, medium};
use crate::attachments;
use crate::domain::Domain;

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
