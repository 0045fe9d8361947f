//! Blocks a person and ends a block, each in one commit.
//!
//! A block signs the person out everywhere and gives planned work back. Unblocking may restore what is still free. The
//! person is told of both by the bot: the notice is a row of the same commit.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::DbErr;

use super::changes::{change_status, set_status};
use super::{Person, Status};
use crate::application::App;
use crate::domain::Transaction;
use crate::rooms::{BlockChange, GivenBack, PendingWork, Rooms};
use crate::texts::Language;

/// Blocks a person, within a commit. Returns how many pieces of planned work were given back.
pub async fn block(db: &Transaction<'_, '_>, id: i64, by: Option<i64>, at: Millis) -> Result<u64, WriteError> {
    let given_back = change_status(db, id, Status::Blocked, by, at).await?;
    tell(db, id, BlockChange::Blocked { given_back }, at).await?;
    Ok(given_back)
}

/// Ends a block, within a commit; `restores` asks for planned work that is still free. Returns how much of it is back.
pub async fn unblock(
    db: &Transaction<'_, '_>,
    person: &Person,
    restores: bool,
    by: Option<i64>,
    at: Millis,
) -> Result<u64, WriteError> {
    let status = status_without_block(db, person).await?;
    set_status(db, person.id, status, by, at).await?;
    let mut restored = 0;
    if restores && status == Status::Verified {
        for room in Rooms::all().iter() {
            restored += room.restore_work(db, person.id, by, at).await?;
        }
    }
    tell(db, person.id, BlockChange::Unblocked { restored }, at).await?;
    Ok(restored)
}

/// What a block would give back now, from all rooms.
pub async fn pending_work(app: &App, person_id: i64, language: Language) -> Result<PendingWork, DbErr> {
    let mut all = PendingWork::default();
    for room in app.rooms.iter() {
        let work = room.pending_work(app, person_id, language).await?;
        all.plans.extend(work.plans);
        all.is_at_work |= work.is_at_work;
    }
    Ok(all)
}

/// What a block has given back, from all rooms.
pub async fn given_back(app: &App, person_id: i64, language: Language) -> Result<Vec<GivenBack>, DbErr> {
    let mut all = Vec::new();
    for room in app.rooms.iter() {
        all.extend(room.given_back(app, person_id, language).await?);
    }
    Ok(all)
}

async fn tell(db: &Transaction<'_, '_>, id: i64, change: BlockChange, at: Millis) -> Result<(), WriteError> {
    for room in Rooms::all().iter() {
        room.tell_of_block(db, id, change, at).await?;
    }
    Ok(())
}

/// The status without the block, from the room that admitted the person.
async fn status_without_block(db: &Transaction<'_, '_>, person: &Person) -> Result<Status, WriteError> {
    for room in Rooms::all().iter() {
        if let Some(status) = room.status_after_unblock(db, person).await? {
            return Ok(status);
        }
    }
    Ok(Status::Rejected)
}
