//! Tests of what every store promises.
//!
//! One function for each promise of [`Store`](crate::store::Store). It takes an empty store, or one with a leader, and
//! panics if the promise is broken. [`store_conformance!`](crate::store_conformance) makes a test of each. The suite
//! does not test speed. Of the application's writes it tests their refusal and those of jobs only, because not every
//! store can run them.
#![allow(clippy::expect_used, reason = "a case that cannot go on fails where it is")]

use std::future::Future;
use std::time::Duration;

use futures_util::future::BoxFuture;

pub use self::fixture::Fixture;
pub use self::subject::{Start, Subject};

pub mod cleaning;
pub mod delivery;
pub mod effects;
pub mod fencing;
pub(crate) mod fixture;
pub mod forgetting;
pub mod inbox;
pub mod job_requests;
pub mod job_writes;
pub mod jobs;
pub mod lease;
pub mod operator;
pub mod outbox;
pub mod parking;
mod subject;
pub mod time;
pub mod turn;

/// The timeout of a case, so that a store that hangs fails.
const CASE_TIMEOUT: Duration = Duration::from_secs(60);

/// A case of the suite.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The name of its function, which states the promise.
    pub name: &'static str,
    /// Checks the promise on an empty store, and panics if it is broken.
    pub check: fn(Subject) -> BoxFuture<'static, ()>,
}

/// Tests a store: `opora::store_conformance!(factory)` makes a test of every case in the surrounding module.
///
/// The factory is called for each test. Its future returns an empty store, or a
/// [`Subject`](crate::testing::conformance::Subject) that can also be reopened.
///
/// ```
/// mod memory {
///     opora::store_conformance!(|| async { opora::store::MemoryStore::new() });
/// }
/// ```
#[macro_export]
macro_rules! store_conformance {
    (@each $then:ident $with:tt) => {
        $crate::$then! {
            $with
            lease {
                a_free_lease_is_granted_and_shown,
                a_held_lease_is_not_given_away,
                a_lease_that_was_not_renewed_is_taken_over,
                a_lease_that_was_renewed_is_not_taken_over,
                a_newer_lease_is_not_taken_over,
                a_released_lease_is_free_at_once,
                a_cleared_lease_fences_the_leader,
                epochs_rise_with_every_leader,
                concurrent_takeovers_have_one_winner,
                an_old_leader_can_neither_renew_nor_release,
                leases_of_two_bots_are_independent,
            }
            fencing {
                an_old_instance_cannot_receive,
                an_old_instance_cannot_commit,
                an_old_instance_cannot_park,
                an_old_instance_cannot_mark_as_sending,
                an_old_instance_cannot_mark_as_not_sent,
                an_old_instance_cannot_settle,
                an_old_instance_cannot_post,
                an_old_instance_cannot_finish_an_effect,
                an_old_instance_cannot_clean,
            }
            inbox {
                an_update_is_received_once,
                an_update_repeated_in_a_batch_is_received_once,
                a_processed_update_is_known,
                an_update_repeated_during_its_commit_is_processed_once,
                the_same_id_with_another_identity_is_a_new_update,
                receipts_come_in_the_order_of_the_batch,
                the_inbox_keeps_its_order_over_takeovers,
                the_inbox_is_read_in_pages,
                inputs_can_be_read_by_conversation,
                received_updates_survive_a_restart,
                each_bot_has_its_own_inbox,
                a_direct_update_needs_no_inbox_row,
                a_direct_update_leaves_the_inbox,
                a_direct_update_is_processed_once,
                a_direct_update_and_its_inbox_row_are_one_input,
            }
            delivery {
                an_update_is_delivered_without_a_leader,
                an_update_is_delivered_once,
                a_processed_update_is_not_delivered_again,
                concurrent_deliveries_keep_one_update,
                deliveries_keep_their_order,
                a_delivery_reports_whether_others_wait,
                delivered_updates_survive_a_restart,
                the_backlog_is_counted_up_to_a_limit,
            }
            turn {
                a_commit_stores_everything,
                a_commit_from_an_old_version_leaves_nothing,
                a_commit_of_a_processed_input_leaves_nothing,
                an_update_is_processed_once,
                a_processed_input_is_reported_before_an_old_version,
                concurrent_commits_have_one_winner,
                conversations_commit_side_by_side,
                every_commit_raises_the_version_by_one,
                a_kept_state_stays_as_it_was,
                versions_do_not_restart_when_a_conversation_ends,
                an_ended_conversation_has_no_state,
                keys_differ_by_each_of_their_parts,
                texts_are_stored_unchanged,
                refused_writes_leave_nothing_of_the_turn,
                numbers_rise_from_commit_to_commit,
            }
            outbox {
                messages_keep_their_order,
                the_outbox_is_read_in_pages,
                a_call_is_stored_unchanged,
                a_sent_message_leaves_the_outbox,
                a_failed_message_is_kept_as_failed,
                failed_messages_are_shown_in_pages,
                a_secret_that_failed_is_not_kept,
                messages_are_settled_together,
                messages_follow_a_chat_that_moved,
                a_label_names_the_message_sent_last,
                a_message_being_sent_is_known_after_a_restart,
                a_message_can_be_marked_as_not_sent,
                a_post_happens_once,
                a_post_has_the_time_it_was_given,
                the_oldest_unsent_message_is_known,
            }
            effects {
                an_effect_waits_until_it_is_finished,
                an_effect_is_replaced_by_its_outcome_once,
                an_outcome_is_processed_once,
            }
            jobs {
                a_job_runs_once_until_it_completes,
                jobs_start_in_their_order,
                a_job_starts_at_its_time,
                a_queue_starts_only_its_own_jobs,
                attempts_are_counted_over_restarts,
                an_ended_attempt_completes_nothing,
                an_old_instance_cannot_run_jobs,
                jobs_are_enqueued_without_a_lease,
                each_bot_has_its_own_jobs,
            }
            job_requests {
                a_unique_job_is_added_once,
                a_unique_job_has_a_period,
                a_job_of_an_effect_is_added_once,
                a_paused_queue_starts_nothing,
                a_job_can_be_cancelled,
                a_request_to_cancel_outlives_its_attempt,
                a_job_can_be_run_again,
                finished_jobs_are_pruned,
                a_tick_happens_once,
                jobs_are_listed_by_a_filter,
                jobs_are_counted,
            }
            job_writes {
                a_job_of_refused_writes_is_not_added,
                last_writes_commit_with_their_job,
                an_old_instance_cannot_write_for_jobs,
            }
            time {
                timers_are_due_in_order,
                a_timer_set_again_replaces_the_old_one,
                a_cancelled_timer_does_not_fire,
                a_timer_fires_once,
                a_timer_can_be_set_again_as_it_fires,
                timers_of_two_conversations_are_separate,
                a_conversation_expires_at_its_expiry,
                a_turn_postpones_the_expiry,
                the_next_due_time_is_the_earliest,
            }
            parking {
                a_parked_update_counts_as_processed,
                a_parked_timer_is_no_longer_due,
                an_input_is_parked_once,
                messages_of_a_parked_turn_are_sent,
                a_refused_parking_sends_nothing,
                a_parked_turn_is_found_by_its_id,
                parked_turns_are_listed_oldest_first,
                a_parked_turn_runs_again_when_asked,
                a_parked_turn_is_processed_once,
                a_parked_turn_can_be_parked_again,
                a_parked_turn_can_be_dropped,
            }
            cleaning {
                cleaning_removes_old_rows,
                cleaning_keeps_young_rows,
                cleaning_keeps_rows_still_needed,
                a_post_can_be_repeated_after_its_retention,
                old_labels_are_removed,
                parked_turns_are_kept_up_to_a_limit,
                versions_do_not_restart_after_cleaning,
            }
            forgetting {
                a_forgotten_person_leaves_nothing,
                forgetting_a_person_affects_no_others,
                a_turn_of_a_forgotten_person_is_overtaken,
                a_forgotten_update_is_not_processed_again,
            }
            operator {
                conversations_are_listed_in_pages,
                a_list_follows_its_filter,
                a_reset_ends_a_conversation,
                an_export_can_be_imported,
                an_import_replaces_only_when_asked,
                an_import_overtakes_a_running_turn,
                an_import_never_lowers_a_version,
                statistics_count_the_rows,
                the_oldest_input_and_effect_are_known,
                transitions_are_recorded_in_order,
                transitions_can_be_read_by_conversation,
                bots_with_data_are_listed,
            }
        }
    };
    ($factory:expr $(,)?) => {
        $crate::store_conformance!(@each __store_conformance_tests ($factory));
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __store_conformance_tests {
    (($factory:expr) $($group:ident { $($name:ident,)* })*) => {
        $($(
            #[test]
            fn $name() {
                $crate::testing::conformance::run($crate::testing::conformance::$group::$name, $factory);
            }
        )*)*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __store_conformance_table {
    (() $($group:ident { $($name:ident,)* })*) => {
        /// All cases, in reading order.
        pub const CASES: &[Case] = &[
            $($(Case { name: stringify!($name), check: |subject| Box::pin(start($group::$name, subject)) },)*)*
        ];
    };
}

crate::store_conformance!(@each __store_conformance_table ());

/// Runs one case on a store of the factory, on its own multi-threaded runtime.
///
/// # Panics
/// If the store breaks the promise, or does not answer in time.
pub fn run<C, I, T, F, S, O>(case: C, factory: F)
where
    C: FnOnce(I) -> T,
    I: Start,
    T: Future<Output = ()>,
    F: FnOnce() -> S,
    S: Future<Output = O>,
    O: Into<Subject>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("the machine has threads for a test");
    let outcome = runtime.block_on(async {
        let subject = factory().await.into();
        tokio::time::timeout(CASE_TIMEOUT, start(case, subject)).await
    });
    assert!(outcome.is_ok(), "the store did not answer within {CASE_TIMEOUT:?}");
}

/// Runs a case on what it starts from.
async fn start<I: Start, T: Future<Output = ()>>(case: impl FnOnce(I) -> T, subject: Subject) {
    case(I::from_subject(subject).await).await;
}
