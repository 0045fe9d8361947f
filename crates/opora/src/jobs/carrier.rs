//! Jobs that a turn enqueues, in its commit.
//!
//! If jobs are in SQL, they are writes of the turn. In other stores jobs lie apart from conversations, so the turn
//! stores an effect, which carries the job there: at least once, and the job has a key by which it is added once.

use std::sync::Arc;

use serde_json::Value;

use super::runner::RunnerHandle;
use crate::clock::Clock;
use crate::clock::Millis;
use crate::effects::{EffectError, EffectRequest};
use crate::store::requester::{Requester, effect_body};
use crate::store::{DomainWrites, Effect, NewJob, Store};
use crate::turn::{TurnError, TurnResult};

/// The kind of the effect that carries a job.
pub(crate) const CARRIER: &str = "opora_job";

/// Puts the jobs of a turn into what it commits.
pub(crate) fn place_in_commit(
    result: &mut TurnResult,
    store: &dyn Store,
    (bot, now): (i64, Millis),
) -> Result<(), TurnError> {
    let jobs = std::mem::take(&mut result.jobs);
    if jobs.is_empty() {
        return Ok(());
    }
    if store.has_jobs_in_sql() {
        let add = DomainWrites::new(move |database| {
            Box::pin(async move { database.enqueue_all(bot, jobs, now).await.map(drop) })
        });
        result.writes = Some(match result.writes.take() {
            Some(writes) => writes.then(add),
            None => add,
        });
        return Ok(());
    }
    for job in jobs {
        // The time counts from the turn, not from the arrival.
        let job = NewJob { when: job.when.resolve(now).into(), ..job };
        let request = serde_json::value::to_raw_value(&job).map_err(TurnError::failed)?;
        let body = effect_body(Requester::default(), true, &request).map_err(TurnError::failed)?;
        result.effects.push(Effect { kind: CARRIER.into(), body: body.into() });
    }
    Ok(())
}

/// Runs the effects that carry jobs.
#[derive(Clone, Debug)]
pub(crate) struct Carrier {
    pub(crate) bot: i64,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) runner: RunnerHandle,
}

impl Carrier {
    pub(crate) async fn run(self, request: EffectRequest) -> Result<Value, EffectError> {
        let job: NewJob = request.read()?;
        let job = NewJob { once: Some(request.key.into()), ..job };
        let (now, queue) = (self.clock.now(), job.queue.clone());
        let is_due = job.when.resolve(now) <= now;
        self.store.enqueue_jobs(self.bot, vec![job], now).await?;
        if is_due {
            self.runner.wake_queue(queue);
        } else {
            self.runner.wake();
        }
        Ok(Value::Null)
    }
}
