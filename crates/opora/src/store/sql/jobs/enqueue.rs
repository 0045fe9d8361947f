//! Adds jobs, except those that repeat others.

use std::collections::HashMap;

use super::{Columns, OverRows, ReadRow, Value, change, number, rows, rows_of, state};
use crate::clock::Millis;
use crate::store::sql::rows::Rows;
use crate::store::{Database, Enqueued, JobId, JobState, NewJob, WriteError};

/// An earlier job that a new one may repeat: the latest of its key and state.
struct EarlierJob {
    id: JobId,
    key: String,
    state: JobState,
    enqueued_at: Millis,
}

impl ReadRow for EarlierJob {
    fn read(row: &impl Columns) -> sqlx::Result<Self> {
        Ok(Self {
            id: JobId(row.number(0)?),
            key: row.text(1)?,
            state: state(&row.str(2)?)?,
            enqueued_at: Millis(row.number(3)?),
        })
    }
}

/// A new job: it repeats an earlier one, or has this place among the added ones.
#[derive(Clone, Copy)]
enum Place {
    Known(JobId),
    Added(usize),
}

/// What the jobs of a batch repeat.
#[derive(Default)]
struct Repetitions {
    /// Stored jobs by key.
    earlier: HashMap<String, Vec<EarlierJob>>,
    /// Jobs of the same batch by key, with their states.
    of_batch: HashMap<String, Vec<(JobState, Place)>>,
}

impl Repetitions {
    fn find(&self, job: &NewJob, key: &str, now: Millis) -> Option<Place> {
        let counts = |state, enqueued_at| match &job.unique {
            Some(unique) => unique.applies_to(state, enqueued_at, now),
            // By `once`, every job that is kept counts.
            None => true,
        };
        let in_batch = self.of_batch.get(key).and_then(|jobs| jobs.iter().find(|(state, _)| counts(*state, now)));
        if let Some((_, place)) = in_batch {
            return Some(*place);
        }
        let earlier = self.earlier.get(key)?.iter().filter(|job| counts(job.state, job.enqueued_at));
        earlier.map(|job| job.id).max().map(Place::Known)
    }
}

/// The states in which an earlier job counts.
fn counted_states(job: &NewJob) -> &[JobState] {
    job.unique.as_ref().map_or(&JobState::ALL, |unique| &unique.states)
}

/// The key under which a job is stored: that of [`crate::store::Unique`], otherwise its `once`.
fn stored_key(job: &NewJob) -> Option<String> {
    job.unique_key().or_else(|| job.once.as_ref().map(|once| format!("once {once}")))
}

/// Adds jobs.
pub(in crate::store) async fn enqueue(
    database: &mut Database<'_>,
    bot: i64,
    jobs: Vec<NewJob>,
    now: Millis,
) -> Result<Vec<Enqueued>, WriteError> {
    let keys: Vec<Option<String>> = jobs.iter().map(stored_key).collect();
    let mut repetitions = Repetitions::default();
    if keys.iter().any(Option::is_some) {
        if database.is_postgres() {
            // Two transactions that add the same key at the same time would not see each other.
            change(database, "SELECT pg_advisory_xact_lock(1869639540, hashint8($1))", vec![Value::Number(bot)])
                .await?;
        }
        let asked = jobs.iter().zip(&keys).filter_map(|(job, key)| Some((job, key.as_ref()?)));
        let asked = asked.flat_map(|(job, key)| counted_states(job).iter().map(move |state| (key, state.name())));
        let values = vec![rows_of(asked)?, Value::Number(bot)];
        for earlier in rows::<EarlierJob>(database, EARLIER.pick(database), values).await? {
            repetitions.earlier.entry(earlier.key.clone()).or_default().push(earlier);
        }
    }
    let mut places = Vec::with_capacity(jobs.len());
    let mut added = Rows::default();
    let mut added_count = 0;
    for (job, key) in jobs.iter().zip(keys) {
        let known = key.as_deref().and_then(|key| repetitions.find(job, key, now));
        let place = known.unwrap_or(Place::Added(added_count));
        if known.is_none() {
            let (state, run_at) = job.start(now);
            let NewJob { name, queue, args, priority, max_attempts, .. } = job;
            added.add(&(name, queue, args, state.name(), priority, run_at, max_attempts, &key))?;
            added_count += 1;
            if let Some(key) = key {
                repetitions.of_batch.entry(key).or_default().push((state, place));
            }
        }
        places.push((place, known.is_none()));
    }
    let mut ids: Vec<JobId> = Vec::new();
    if added_count > 0 {
        let values = vec![Value::Rows(added), Value::Number(bot), number(now)];
        ids = rows(database, ADD.pick(database), values).await?;
        // Ids rise in the order of the rows, but the answer may have another order.
        ids.sort_unstable();
    }
    let id = |place| match place {
        Place::Known(id) => id,
        Place::Added(index) => ids.get(index).copied().unwrap_or_default(),
    };
    let answer = |(place, is_new)| if is_new { Enqueued::New(id(place)) } else { Enqueued::Known(id(place)) };
    Ok(places.into_iter().map(answer).collect())
}

/// The latest job of each key and state that is asked for. A key may have many finished jobs, so they are not counted.
const EARLIER: OverRows = OverRows {
    sqlite: "
SELECT earlier.id, unique_key, state, enqueued_at FROM json_each($1) AS asked
JOIN opora_jobs AS earlier ON earlier.id = (
    SELECT max(id) FROM opora_jobs WHERE bot = $2 AND unique_key = asked.value->>0 AND state = asked.value->>1)",
    postgres: "
SELECT earlier.id, unique_key, state, enqueued_at FROM jsonb_array_elements($1::jsonb) AS asked (value)
CROSS JOIN LATERAL (
    SELECT id, unique_key, state, enqueued_at FROM opora_jobs
    WHERE bot = $2 AND unique_key = asked.value->>0 AND state = asked.value->>1 ORDER BY id DESC LIMIT 1) AS earlier",
};

const ADD: OverRows = OverRows {
    sqlite: "
INSERT INTO opora_jobs
    (bot, name, queue, args, state, priority, run_at, scheduled_at, max_attempts, unique_key, enqueued_at)
SELECT $2, value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>5, value->>6, value->>7, $3
FROM json_each($1) ORDER BY key RETURNING id",
    postgres: "
INSERT INTO opora_jobs
    (bot, name, queue, args, state, priority, run_at, scheduled_at, max_attempts, unique_key, enqueued_at)
SELECT $2, value->>0, value->>1, value->>2, value->>3, (value->>4)::bigint, (value->>5)::bigint, (value->>5)::bigint,
       (value->>6)::bigint, value->>7, $3
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS element (value, place) ORDER BY place RETURNING id",
};
