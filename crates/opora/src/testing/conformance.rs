//! What every store must hold, as tests.
//!
//! One function for each promise of [`Store`](crate::store::Store): it takes an empty store and panics if the promise
//! is broken. [`store_conformance!`](crate::store_conformance) makes a named test of each. The suite says nothing on
//! speed, and nothing on the application's own writes beyond their refusal, which not every store can carry out.
#![allow(clippy::expect_used, reason = "a case that cannot go on fails where it is")]

use std::future::Future;
use std::time::Duration;

use futures_util::future::BoxFuture;

pub use self::subject::Subject;

pub mod cleaning;
pub mod delivery;
pub mod effects;
pub mod fencing;
pub mod forgetting;
pub mod inbox;
pub mod lease;
pub mod operator;
pub mod outbox;
pub mod parking;
mod scene;
mod subject;
pub mod time;
pub mod turn;

/// How long a case may take: a store that hangs fails it too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A case of the suite.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The promise, as the name of its function.
    pub name: &'static str,
    /// Checks it on an empty store, and panics if it is broken.
    pub check: fn(Subject) -> BoxFuture<'static, ()>,
}

/// Tests a store: `opora::store_conformance!(factory)` makes a test of every case in the module where it stands.
///
/// The factory is called for each test and gives, in a future, an empty store, or a
/// [`Subject`](crate::testing::conformance::Subject) that can also be opened again.
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
                a_lease_of_a_later_holder_is_not_taken_over,
                a_released_lease_is_free_at_once,
                a_cleared_lease_fences_its_holder,
                epochs_rise_with_every_owner,
                of_many_takeovers_one_succeeds,
                an_old_holder_can_neither_renew_nor_release,
                the_leases_of_two_bots_are_apart,
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
                an_update_that_was_taken_is_known,
                an_update_that_comes_again_while_its_turn_commits_is_taken_once,
                the_same_id_with_another_identity_is_a_new_update,
                receipts_come_in_the_order_of_the_batch,
                the_inbox_keeps_its_order_over_takeovers,
                the_inbox_is_read_in_pages,
                the_inputs_of_a_conversation_are_read_apart,
                what_was_received_waits_after_a_restart,
                each_bot_has_its_own_inbox,
                a_fresh_update_is_taken_without_the_inbox,
                a_fresh_update_that_came_into_the_inbox_leaves_it,
                a_fresh_update_is_taken_once,
                a_fresh_update_is_not_taken_beside_its_row,
            }
            delivery {
                an_update_is_delivered_while_nobody_holds_the_lease,
                an_update_is_delivered_once,
                a_taken_update_is_not_delivered_again,
                of_many_deliveries_of_an_update_one_is_kept,
                what_is_delivered_stands_in_the_order_of_its_coming,
                it_is_told_whether_others_wait,
                what_was_delivered_waits_after_a_restart,
                what_waits_is_counted_up_to_a_limit,
            }
            turn {
                a_commit_is_kept_whole,
                a_commit_from_an_old_version_leaves_nothing,
                a_commit_of_a_taken_input_leaves_nothing,
                an_update_is_taken_once,
                a_taken_input_is_told_before_an_old_version,
                of_many_commits_from_one_version_one_wins,
                many_conversations_go_on_side_by_side,
                every_commit_raises_the_version_by_one,
                a_kept_state_stays_as_it_was,
                versions_do_not_restart_when_a_conversation_ends,
                an_ended_conversation_has_no_state,
                keys_differ_by_each_of_their_parts,
                texts_come_back_as_they_were,
                refused_writes_leave_nothing_of_the_turn,
                numbers_rise_from_commit_to_commit,
            }
            outbox {
                messages_keep_the_order_in_which_they_were_said,
                the_outbox_is_read_in_pages,
                a_call_comes_back_as_it_was_said,
                a_sent_message_leaves_the_outbox,
                a_failed_message_is_set_aside,
                failed_messages_are_shown_in_pages,
                a_secret_that_failed_is_not_kept,
                messages_are_settled_together,
                messages_follow_a_chat_that_moved,
                a_label_names_the_message_sent_last,
                a_message_in_the_act_of_sending_is_told_after_a_restart,
                a_message_that_was_not_sent_after_all_is_told_as_such,
                a_post_happens_once,
                a_post_bears_its_time,
                the_oldest_unsent_message_is_known,
            }
            effects {
                an_effect_waits_until_it_is_finished,
                an_effect_is_replaced_by_its_outcome_once,
                an_outcome_is_taken_once,
            }
            time {
                timers_are_due_in_the_order_of_their_times,
                a_timer_set_again_replaces_the_former,
                a_cancelled_timer_does_not_fire,
                a_timer_fires_once,
                a_timer_can_be_set_anew_as_it_fires,
                timers_of_two_conversations_are_apart,
                a_conversation_expires_when_its_life_is_over,
                a_turn_extends_a_life,
                the_next_due_time_is_the_earliest_there_is,
            }
            parking {
                a_parked_update_counts_as_taken,
                a_parked_timer_is_due_no_more,
                an_input_is_parked_once,
                what_is_said_with_a_parked_turn_is_sent,
                a_refused_parking_says_nothing,
                a_parked_turn_is_found_by_its_number,
                parked_turns_are_listed_oldest_first,
                a_parked_turn_runs_again_when_asked,
                a_parked_turn_is_taken_once,
                a_parked_turn_can_be_parked_again,
                a_parked_turn_can_be_dropped,
            }
            cleaning {
                cleaning_removes_what_is_old,
                cleaning_keeps_what_is_young,
                cleaning_spares_what_is_still_needed,
                a_post_can_be_repeated_after_its_time,
                labels_are_forgotten_after_their_time,
                parked_turns_are_kept_up_to_a_number,
                a_forgotten_conversation_does_not_restart_its_versions,
            }
            forgetting {
                a_forgotten_person_leaves_nothing,
                forgetting_a_person_spares_the_others,
                a_turn_of_a_forgotten_person_is_overtaken,
                a_forgotten_update_is_not_taken_again,
            }
            operator {
                conversations_are_listed_in_pages,
                a_list_shows_what_the_filter_asks_for,
                a_reset_ends_a_conversation,
                an_export_can_be_imported,
                an_import_replaces_only_when_told,
                an_import_is_noticed_by_a_turn,
                an_import_does_not_turn_versions_back,
                statistics_count_what_is_there,
                transitions_are_recorded_in_order,
                the_transitions_of_a_conversation_are_read_apart,
                bots_with_anything_here_are_known,
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
        /// All cases, in the order in which a reader would want to know.
        pub const CASES: &[Case] = &[
            $($(Case { name: stringify!($name), check: |subject| Box::pin($group::$name(subject)) },)*)*
        ];
    };
}

crate::store_conformance!(@each __store_conformance_table ());

/// Runs one case on a store of the factory, on a runtime of its own with several threads.
///
/// # Panics
/// If the store breaks the promise of the case, or does not answer.
pub fn run<C, T, F, S, O>(case: C, factory: F)
where
    C: FnOnce(Subject) -> T,
    T: Future<Output = ()>,
    F: FnOnce() -> S,
    S: Future<Output = O>,
    O: Into<Subject>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("the machine has threads for a test");
    let outcome = runtime.block_on(async {
        let subject = factory().await.into();
        tokio::time::timeout(PATIENCE, case(subject)).await
    });
    assert!(outcome.is_ok(), "the store did not answer within {PATIENCE:?}");
}
