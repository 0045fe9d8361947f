//! The list of metrics. A test compares it with the code, and others with the tables in the documents.

use super::{Metric, MetricLabel};

/// Upper bounds for the duration of code: 100 µs to 30 s, the deadline of a handler.
const DURATIONS: &[f64] =
    &[0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];
/// The same with fewer buckets, for metrics with a series per dialogue.
const DURATIONS_BY_NAME: &[f64] = &[0.000_25, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 30.0];
/// Upper bounds for the time that something waits: 1 ms to an hour.
const WAITS: &[f64] = &[0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 3600.0];

const NO_LABELS: &[MetricLabel] = &[];
const BY_STATE: &[MetricLabel] = &[MetricLabel::by_name("dialogue"), MetricLabel::by_name("state")];
const BY_DIALOGUE: &[MetricLabel] = &[MetricLabel::by_name("dialogue")];
const UNHANDLED: &[MetricLabel] = &[
    MetricLabel::of("input", &["message", "timer", "outcome", "expired", "again", "failed", "unreadable", "returned"]),
    MetricLabel::of("why", &["no_handler", "nothing_open", "another_bot", "business_chat", "guard"]),
];
const TURN_OUTCOMES: &[MetricLabel] = &[MetricLabel::of("outcome", &["committed", "known", "parked", "unhandled"])];
const SEND_OUTCOMES: &[MetricLabel] = &[MetricLabel::of("outcome", &["sent", "failed"])];
const EFFECT_OUTCOMES: &[MetricLabel] = &[MetricLabel::of("outcome", &["done", "failed"])];

const BY_JOB: &[MetricLabel] = &[MetricLabel::by_name("queue"), MetricLabel::by_name("name")];
const JOB_OUTCOMES: &[MetricLabel] = &[
    MetricLabel::by_name("queue"),
    MetricLabel::by_name("name"),
    MetricLabel::of("outcome", &["completed", "failed", "discarded", "cancelled", "snoozed"]),
];

/// Every metric that the library reports.
pub const ALL: &[Metric] = &[
    Metric::counter("opora_updates_total", NO_LABELS, "updates received, including repeated ones"),
    Metric::counter("opora_updates_known_total", NO_LABELS, "updates that were known already"),
    Metric::counter("opora_updates_unreadable_total", NO_LABELS, "received bodies that cannot be read as updates"),
    Metric::counter("opora_intake_failures_total", NO_LABELS, "batches of updates that could not be stored at once"),
    Metric::counter("opora_polling_failures_total", NO_LABELS, "failed calls of getUpdates"),
    Metric::counter("opora_turns_total", TURN_OUTCOMES, "turns by their end"),
    Metric::counter("opora_turn_failures_total", NO_LABELS, "failed attempts of turns"),
    Metric::counter("opora_unhandled_total", UNHANDLED, "inputs without a handler"),
    Metric::counter("opora_timers_over_total", NO_LABELS, "timers that fired after their state had ended"),
    Metric::counter("opora_transitions_total", NO_LABELS, "changes of state"),
    Metric::histogram(
        "opora_turn_seconds",
        DURATIONS_BY_NAME,
        BY_DIALOGUE,
        "duration of the handlers of committed turns, by the dialogue in the foreground; none without a dialogue",
    ),
    Metric::histogram("opora_commit_seconds", DURATIONS, NO_LABELS, "duration of commits"),
    Metric::histogram("opora_input_seconds", WAITS, NO_LABELS, "from an input's arrival in the inbox to its commit"),
    Metric::counter("opora_sends_total", SEND_OUTCOMES, "messages and other calls that came to an end"),
    Metric::counter("opora_send_retries_total", NO_LABELS, "retried calls"),
    Metric::counter("opora_posts_known_total", NO_LABELS, "posts under a name that was used before"),
    Metric::counter("opora_effects_total", EFFECT_OUTCOMES, "effects that came to an end"),
    Metric::counter(
        "opora_jobs_enqueued_total",
        BY_JOB,
        "jobs enqueued; schedules, and turns without a database, count repetitions of unique jobs too",
    ),
    Metric::counter("opora_jobs_started_total", BY_JOB, "attempts of jobs that have begun"),
    Metric::counter("opora_jobs_finished_total", JOB_OUTCOMES, "attempts of jobs by their end"),
    Metric::histogram("opora_job_seconds", DURATIONS_BY_NAME, BY_JOB, "duration of attempts of jobs"),
    Metric::counter(
        "opora_journal_conflicts_total",
        NO_LABELS,
        "conversations that changed in Redis and in the journal",
    ),
    Metric::counter("opora_redis_changes_lost_total", NO_LABELS, "changes that Redis lost and the bot went on without"),
    Metric::gauge(
        "opora_lease_remaining_seconds",
        NO_LABELS,
        "time left on the lease, at each renewal; 0 on a standby",
    ),
    Metric::gauge("opora_mailbox_waiting", NO_LABELS, "inputs in memory that wait for their turn"),
    Metric::gauge("opora_outbox_waiting", NO_LABELS, "messages that the courier holds in memory"),
    Metric::gauge("opora_active_dialogues", NO_LABELS, "conversations with a state"),
    Metric::gauge("opora_dialogues", BY_STATE, "conversations by the state in the foreground"),
    Metric::gauge("opora_inbox_rows", NO_LABELS, "stored inputs that wait for their turn"),
    Metric::gauge("opora_inbox_oldest_seconds", NO_LABELS, "age of the oldest stored input"),
    Metric::gauge("opora_outbox_rows", NO_LABELS, "stored messages that are not sent yet"),
    Metric::gauge("opora_outbox_oldest_seconds", NO_LABELS, "age of the oldest message that is not sent yet"),
    Metric::gauge("opora_failed_sends", NO_LABELS, "stored messages that could not be sent"),
    Metric::gauge("opora_timers", NO_LABELS, "timers that are set"),
    Metric::gauge("opora_effects", NO_LABELS, "unfinished effects"),
    Metric::gauge("opora_effects_oldest_seconds", NO_LABELS, "age of the oldest unfinished effect"),
    Metric::gauge("opora_jobs_waiting", BY_JOB, "jobs that can start and wait for room in their queue"),
    Metric::gauge("opora_jobs_oldest_seconds", BY_JOB, "how long the oldest of these jobs has waited"),
    Metric::gauge("opora_parked_turns", NO_LABELS, "parked turns"),
];
