//! Many people who register at once.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use serde_json::json;

use super::newcomer::{DONE, Newcomer};
use crate::product::demo::Demo;

/// The number of the first of them.
const FIRST: i64 = 100_000;

/// Everybody gives everything, and hears that it is saved. Says how long that took, from the first word to the last.
pub async fn register(emulator: &Demo, people: u32, patience: Duration) -> Duration {
    let ids = FIRST..FIRST + i64::from(people);
    let known = stream::iter(ids.clone()).map(|id| async move {
        emulator.post("/users", json!({"id": id, "first_name": "Somebody", "language_code": "en"})).await;
    });
    known.buffer_unordered(16).collect::<()>().await;
    let began = Instant::now();
    join_all(ids.map(|id| async move {
        let mut newcomer = Newcomer::new(emulator, id, patience);
        newcomer.gives_all().await;
        newcomer.hears(DONE).await;
    }))
    .await;
    began.elapsed()
}
