//! Broken jobs.

use opora::clock::Millis;
use opora::store::{
    DomainWrites, Enqueued, Epoch, JobCount, JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobRow, JobStart,
    JobState, JobUpdate, NewJob, StoreError, StoreResult, Tick, Unique, WriteError,
};

use super::{Broken, Fault};

/// Far from every time of the cases.
const NEVER: Millis = Millis(i64::MIN);
const FOR_EVER: Millis = Millis(i64::MAX);

impl Broken {
    async fn bot_of_jobs(&self, bot: i64) -> StoreResult<i64> {
        Ok(if self.fault == Fault::MixesBots { self.inner.operator().bots().await?[0] } else { bot })
    }

    pub(super) async fn broken_enqueue(&self, bot: i64, jobs: Vec<NewJob>, now: Millis) -> StoreResult<Vec<Enqueued>> {
        if self.does_nothing("enqueue_jobs") {
            return Ok(jobs.iter().map(|_| Enqueued::New(JobId(self.next_number() + 1))).collect());
        }
        let change = |job: NewJob| match self.fault {
            // A key that no other job has.
            Fault::IgnoresUnique => job.again().unique(Unique::by(format!("{}", self.next_number()))),
            Fault::UniqueForEver => job.forever(),
            _ => job,
        };
        self.inner.enqueue_jobs(bot, jobs.into_iter().map(change).collect(), now).await
    }

    pub(super) async fn broken_start(
        &self,
        bot: i64,
        epoch: Epoch,
        JobStart { queues, also_scheduled, now }: JobStart,
    ) -> StoreResult<Vec<JobRow>> {
        let now = if self.fault == Fault::StartsJobsEarly { FOR_EVER } else { now };
        let also_scheduled = also_scheduled || self.fault == Fault::AlwaysStartsScheduled;
        let limits = queues.into_iter().map(|(queue, limit)| (queue, self.limit("start_jobs", limit)));
        let mut limits: Vec<(Box<str>, usize)> = limits.collect();
        if self.fault == Fault::MixesQueues {
            limits = vec![("reports".into(), 1), ("mail".into(), 5)];
        }
        let epoch = self.epoch("start_jobs", epoch).await;
        let mut rows = if self.fault == Fault::StartsRunningJobs {
            self.inner.running_jobs(bot, JobId::default(), usize::MAX).await?
        } else {
            Vec::new()
        };
        let start = JobStart { queues: limits, also_scheduled, now };
        rows.extend(self.inner.start_jobs(self.bot_of_jobs(bot).await?, epoch, start).await?);
        if self.fault == Fault::ForgetsAttempts {
            rows.iter_mut().for_each(|row| row.attempt = 1);
        }
        if self.fault == Fault::LosesJobFailures {
            rows.iter_mut().for_each(|row| row.errors.clear());
        }
        Ok(self.order("start_jobs", rows))
    }

    /// Commits what refused writes have done before the refusal.
    pub(super) async fn broken_write(&self, writes: DomainWrites) -> StoreResult<()> {
        if self.fault != Fault::KeepsRefusedWrites {
            return self.inner.write(writes).await;
        }
        let (sender, refusal) = tokio::sync::oneshot::channel();
        let kept = DomainWrites::new(move |database| {
            Box::pin(async move {
                if let Err(WriteError::Refused(refusal)) = writes.run(database).await {
                    let _ = sender.send(refusal);
                }
                Ok(())
            })
        });
        self.inner.write(kept).await?;
        refusal.await.map_or(Ok(()), |refusal| Err(StoreError::Refused(refusal)))
    }

    pub(super) async fn broken_update(
        &self,
        (bot, epoch): (i64, Epoch),
        mut updates: Vec<JobUpdate>,
        writes: Option<DomainWrites>,
    ) -> StoreResult<Vec<bool>> {
        if self.does_nothing("update_jobs") {
            return Ok(vec![true; updates.len()]);
        }
        if self.fault == Fault::IgnoresAttempt {
            let running = self.inner.running_jobs(bot, JobId::default(), usize::MAX).await?;
            for update in &mut updates {
                if let Some(row) = running.iter().find(|row| row.id == update.id) {
                    (update.attempt, update.epoch) = (row.attempt, row.epoch);
                }
            }
        }
        let waiting = updates.iter().filter(|update| !update.state.is_finished() && update.state != JobState::Running);
        let (ids, at): (Vec<_>, Vec<_>) = waiting.map(|update| (update.id, update.at)).unzip();
        let epoch = self.epoch("update_jobs", epoch).await;
        let (writes, later) = if self.fault == Fault::WritesAfterJobs { (None, writes) } else { (writes, None) };
        let applied = self.inner.update_jobs(bot, epoch, updates, writes).await?;
        if let Some(writes) = later {
            self.inner.write(writes).await?;
        }
        if let (Fault::RunsCancelledJobs, Some(at)) = (self.fault, at.first()) {
            self.inner.operator().request_jobs(bot, JobRequest::Retry(ids), *at).await?;
        }
        Ok(applied)
    }

    pub(super) async fn broken_poll(&self, bot: i64) -> StoreResult<JobPoll> {
        let poll = self.inner.poll_jobs(bot).await?;
        Ok(match self.fault {
            Fault::HidesDueJobs => JobPoll { available: Vec::new(), next_scheduled: None, ..poll },
            Fault::ShowsPausedQueues => {
                let paused = self.inner.operator().paused_queues(bot).await?;
                JobPoll { available: [poll.available, paused].concat(), ..poll }
            }
            Fault::HidesCancels => JobPoll { to_cancel: Vec::new(), ..poll },
            _ => poll,
        })
    }

    pub(super) async fn broken_prune(&self, bot: i64, epoch: Epoch, limits: JobLimits) -> StoreResult<u64> {
        let limits = match self.fault {
            Fault::PrunesAllJobs => JobLimits { results_before: FOR_EVER, finished_before: FOR_EVER, max_finished: 0 },
            Fault::IgnoresNumberOfJobs => JobLimits { max_finished: usize::MAX >> 1, ..limits },
            Fault::KeepsResults => JobLimits { results_before: NEVER, ..limits },
            _ => limits,
        };
        if self.does_nothing("prune_jobs") {
            return Ok(0);
        }
        self.inner.prune_jobs(bot, self.epoch("prune_jobs", epoch).await, limits).await
    }

    pub(super) async fn broken_tick(
        &self,
        bot: i64,
        epoch: Epoch,
        mut tick: Tick,
        jobs: Vec<NewJob>,
    ) -> StoreResult<bool> {
        if self.fault == Fault::IgnoresTicks {
            let noted = self.inner.job_ticks(bot).await?;
            tick.from = noted.into_iter().find(|(name, _)| *name == tick.schedule).map(|(_, at)| at);
        }
        self.inner.tick_jobs(bot, self.epoch("tick_jobs", epoch).await, tick, jobs).await
    }

    pub(super) async fn broken_counts(&self, bot: i64, finished_since: Option<Millis>) -> StoreResult<Vec<JobCount>> {
        if self.fault == Fault::CountsNothing {
            return Ok(Vec::new());
        }
        let mut counts = self.inner.job_counts(bot, finished_since).await?;
        if self.fault == Fault::NewestForOldest {
            counts.iter_mut().for_each(|count| count.oldest = Some(FOR_EVER));
        }
        if self.fault == Fault::CountsAllAsRecent {
            counts.iter_mut().for_each(|count| count.recent = count.jobs);
        }
        Ok(counts)
    }

    pub(super) async fn broken_jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: usize,
    ) -> StoreResult<Vec<JobRow>> {
        let bot = self.bot_of_jobs(filter.bot).await?;
        let no_filter = JobFilter { bot, id: filter.id, ..JobFilter::default() };
        let filter =
            if self.fault == Fault::IgnoresTheFilter { no_filter } else { JobFilter { bot, ..filter.clone() } };
        let (before, limit) = (self.after("jobs", before), self.limit("jobs", limit));
        Ok(self.order("jobs", self.inner.operator().jobs(&filter, before, limit).await?))
    }

    pub(super) async fn broken_request(&self, bot: i64, request: JobRequest, now: Millis) -> StoreResult<u64> {
        if self.does_nothing("request_jobs") {
            return Ok(match request {
                JobRequest::Retry(ids) | JobRequest::Cancel(ids) => ids.len() as u64,
                JobRequest::Pause(_) | JobRequest::Resume(_) => 1,
            });
        }
        let changed = self.inner.operator().request_jobs(bot, request.clone(), now).await?;
        // Resumes by itself.
        if let (Fault::ForgetsPauses, JobRequest::Pause(queue)) = (self.fault, request) {
            self.inner.operator().request_jobs(bot, JobRequest::Resume(queue), now).await?;
        }
        Ok(changed)
    }
}

/// What a broken store makes of a job.
trait Broke {
    fn again(self) -> Self;
    fn forever(self) -> Self;
}

impl Broke for NewJob {
    /// The same job, which no effect has brought.
    fn again(self) -> Self {
        let mut value = serde_json::to_value(self).unwrap();
        value.as_object_mut().unwrap().remove("once");
        serde_json::from_value(value).unwrap()
    }

    /// The same job, unique for ever and over all states.
    fn forever(self) -> Self {
        let mut value = serde_json::to_value(self).unwrap();
        if let Some(unique) = value["unique"].as_object_mut() {
            unique["period"] = serde_json::Value::Null;
            unique["states"] = serde_json::to_value(JobState::ALL).unwrap();
        }
        serde_json::from_value(value).unwrap()
    }
}
