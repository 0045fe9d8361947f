//! Known devices: browsers in which a person has signed in before.
//!
//! A stranger can use up the limits of an identifier or an address. A known device has its own counters, so its person
//! can still get a PIN. The device cookie alone grants nothing.

use std::time::Duration;

use axum::http::HeaderMap;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::DbErr;

use super::tokens::{self, Purpose};
use crate::application::App;
use crate::domain::Transaction;
use crate::web::cookies::Cookie;
use crate::web::visit::Visit;

/// How long a device is known after the last sign-in.
pub const TTL: Duration = Duration::from_secs(180 * 24 * 3600);

/// The device cookie of this browser, if this person has signed in with it before.
pub async fn known(app: &App, visit: &Visit, headers: &HeaderMap, user_id: i64) -> Result<Option<String>, DbErr> {
    let Some(cookie) = Cookie::Device.read(headers, visit.is_https()) else { return Ok(None) };
    let owner = tokens::owner(app, Purpose::Device, &cookie).await?;
    Ok((owner == Some(user_id)).then_some(cookie))
}

/// Remembers a device, or extends its time.
pub async fn remember(db: &Transaction<'_, '_>, user_id: i64, cookie: &str, now: Millis) -> Result<(), WriteError> {
    tokens::store(db, Purpose::Device, user_id, cookie, now.plus(TTL)).await
}

/// Forgets all devices of a person except the one with this cookie.
pub async fn forget_others(db: &Transaction<'_, '_>, user_id: i64, cookie: Option<&str>) -> Result<(), WriteError> {
    tokens::remove(db, Purpose::Device, user_id, cookie).await
}
