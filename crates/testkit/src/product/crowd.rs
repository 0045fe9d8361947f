//! Many people who register at once.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use serde_json::json;

use super::newcomer::{DONE, Newcomer};
use crate::product::demo::Demo;

const FIRST: i64 = 100_000;

/// All people complete the registration and wait for the confirmation. Returns the time from the first message to the
/// last.
pub async fn register(emulator: &Demo, people: u32, timeout: Duration) -> Duration {
    let ids = FIRST..FIRST + i64::from(people);
    let known = stream::iter(ids.clone()).map(|id| async move {
        emulator.post("/users", json!({"id": id, "first_name": "Person", "language_code": "en"})).await;
    });
    known.buffer_unordered(16).collect::<()>().await;
    let began = Instant::now();
    join_all(ids.map(|id| async move {
        let mut newcomer = Newcomer::new(emulator, id, timeout);
        newcomer.completes_registration().await;
        newcomer.receives(DONE).await;
    }))
    .await;
    began.elapsed()
}
