//! For every case a store that breaks its promise: the case must fail on it.

use std::collections::BTreeSet;
use std::sync::Arc;

use opora::store::{SqliteStore, Store};
use opora::testing::conformance::{CASES, Case, Subject, run};
use opora::testing::holder;

use super::broken::Fault::*;
use super::broken::{Broken, Fault, Piece};

const BOT: i64 = 7_000_000_001;

/// The name of the threads that run broken stores.
const BROKEN_THREAD: &str = "broken store";

const LEAVES: [Fault; 7] = [
    Leaves(Piece::State),
    Leaves(Piece::Outgoing),
    Leaves(Piece::Timer),
    Leaves(Piece::Effect),
    Leaves(Piece::Transition),
    Leaves(Piece::Take),
    Leaves(Piece::Mark),
];

const DROPS: [Fault; 7] = [
    Drops(Piece::State),
    Drops(Piece::Outgoing),
    Drops(Piece::Timer),
    Drops(Piece::Effect),
    Drops(Piece::Transition),
    Drops(Piece::Take),
    Drops(Piece::Mark),
];

/// The faults that each case must detect.
const FAULTS_BY_CASE: &[(&str, &[Fault])] = &[
    ("a_free_lease_is_granted_and_shown", &[HidesTheLease]),
    ("a_held_lease_is_not_given_away", &[GivesTheLeaseToAnyone]),
    ("a_lease_that_was_not_renewed_is_taken_over", &[NeverTakesOver, IgnoresEpoch("renew")]),
    ("a_lease_that_was_renewed_is_not_taken_over", &[IgnoresRenewals, DoesNothing("renew")]),
    ("a_newer_lease_is_not_taken_over", &[TakesOverAnyLease]),
    ("a_released_lease_is_free_at_once", &[DoesNothing("release")]),
    ("a_cleared_lease_fences_the_leader", &[DoesNothing("clear_lease")]),
    ("epochs_rise_with_every_leader", &[RestartsEpochs]),
    ("concurrent_takeovers_have_one_winner", &[TakesOverAnyLease]),
    ("an_old_leader_can_neither_renew_nor_release", &[IgnoresEpoch("renew"), IgnoresEpoch("release")]),
    ("leases_of_two_bots_are_independent", &[OneLeaseForAllBots]),
    ("an_old_instance_cannot_receive", &[IgnoresEpoch("receive")]),
    ("an_old_instance_cannot_commit", &[IgnoresEpoch("commit"), LEAVES[0], LEAVES[1], LEAVES[2], LEAVES[3], LEAVES[4]]),
    ("an_old_instance_cannot_park", &[IgnoresEpoch("park")]),
    ("an_old_instance_cannot_mark_as_sending", &[IgnoresEpoch("sending")]),
    ("an_old_instance_cannot_mark_as_not_sent", &[IgnoresEpoch("not_sent")]),
    ("an_old_instance_cannot_settle", &[IgnoresEpoch("settle")]),
    ("an_old_instance_cannot_post", &[IgnoresEpoch("post")]),
    ("an_old_instance_cannot_finish_an_effect", &[IgnoresEpoch("finish_effect")]),
    ("an_old_instance_cannot_clean", &[IgnoresEpoch("clean")]),
    ("an_update_is_received_once", &[ForgetsWaitingMarks, DoesNothing("receive")]),
    ("an_update_repeated_in_a_batch_is_received_once", &[ForgetsWaitingMarks]),
    (
        "an_update_repeated_during_its_commit_is_processed_once",
        &[ForgetsWaitingMarks, ForgetsTakenMarks, Drops(Piece::Take)],
    ),
    ("a_processed_update_is_known", &[ForgetsTakenMarks, Drops(Piece::Take), ForgetsAtRestart]),
    ("the_same_id_with_another_identity_is_a_new_update", &[KnowsById]),
    ("receipts_come_in_the_order_of_the_batch", &[ReversesReceipts]),
    ("the_inbox_keeps_its_order_over_takeovers", &[Reverses("waiting")]),
    ("the_inbox_is_read_in_pages", &[IgnoresAfter("waiting"), IgnoresLimit("waiting")]),
    (
        "inputs_can_be_read_by_conversation",
        &[MixesConversations, IgnoresAfter("waiting_for"), IgnoresLimit("waiting_for"), Reverses("waiting_for")],
    ),
    ("received_updates_survive_a_restart", &[ForgetsAtRestart, DoesNothing("receive")]),
    ("each_bot_has_its_own_inbox", &[MixesBots, HidesBots]),
    ("a_direct_update_needs_no_inbox_row", &[ForgetsTakenMarks, Drops(Piece::Take), ForgetsAtRestart]),
    ("a_direct_update_leaves_the_inbox", &[Drops(Piece::Take), LeavesDirectRows]),
    ("a_direct_update_is_processed_once", &[IgnoresTaken, ForgetsTakenMarks]),
    ("a_direct_update_and_its_inbox_row_are_one_input", &[IgnoresTaken, LeavesDirectRows]),
    ("an_update_is_delivered_without_a_leader", &[DeliversUnderTheLease, DoesNothing("deliver")]),
    ("an_update_is_delivered_once", &[ForgetsWaitingMarks]),
    ("a_processed_update_is_not_delivered_again", &[Drops(Piece::Take), ForgetsAtRestart]),
    ("concurrent_deliveries_keep_one_update", &[ForgetsWaitingMarks]),
    ("deliveries_keep_their_order", &[DeliversBefore, Reverses("waiting_for")]),
    ("a_delivery_reports_whether_others_wait", &[DeliversAsFirst]),
    ("delivered_updates_survive_a_restart", &[ForgetsAtRestart, DoesNothing("deliver")]),
    ("the_backlog_is_counted_up_to_a_limit", &[IgnoresLimit("backlog"), MixesBots]),
    ("a_commit_stores_everything", &DROPS),
    ("a_commit_stores_everything", &[ForgetsAtRestart]),
    ("a_commit_from_an_old_version_leaves_nothing", &LEAVES),
    ("a_commit_from_an_old_version_leaves_nothing", &[IgnoresVersion]),
    ("a_commit_of_a_processed_input_leaves_nothing", &LEAVES),
    ("a_commit_of_a_processed_input_leaves_nothing", &[IgnoresTaken]),
    ("an_update_is_processed_once", &[IgnoresTaken]),
    ("a_processed_input_is_reported_before_an_old_version", &[OldVersionFirst]),
    ("concurrent_commits_have_one_winner", &[IgnoresVersion]),
    ("conversations_commit_side_by_side", &[KeyWithout("user")]),
    ("every_commit_raises_the_version_by_one", &[VersionStaysOnKeep, RestartsVersions]),
    ("a_kept_state_stays_as_it_was", &[KeepClears]),
    ("versions_do_not_restart_when_a_conversation_ends", &[RestartsVersions]),
    ("an_ended_conversation_has_no_state", &[KeepsEnded]),
    (
        "keys_differ_by_each_of_their_parts",
        &[KeyWithout("user"), KeyWithout("thread"), KeyWithout("business"), KeyWithout("sign")],
    ),
    ("texts_are_stored_unchanged", &[CutsAtNul, CutsLong]),
    ("refused_writes_leave_nothing_of_the_turn", &LEAVES),
    ("refused_writes_leave_nothing_of_the_turn", &[IgnoresWrites]),
    ("numbers_rise_from_commit_to_commit", &[GivesTheSameNumber, Drops(Piece::Transition), Reverses("transitions")]),
    ("messages_keep_their_order", &[Reverses("unsent"), ForgetsAtRestart]),
    ("the_outbox_is_read_in_pages", &[IgnoresAfter("unsent"), IgnoresLimit("unsent")]),
    ("a_call_is_stored_unchanged", &[LosesUploads, LosesIfUnsure, LosesPriority, LosesLabels]),
    ("a_sent_message_leaves_the_outbox", &[DoesNothing("settle")]),
    ("a_failed_message_is_kept_as_failed", &[FailedIsForgotten, FailedStays]),
    (
        "failed_messages_are_shown_in_pages",
        &[FailedIsForgotten, IgnoresAfter("failed"), IgnoresLimit("failed"), Reverses("failed")],
    ),
    ("a_secret_that_failed_is_not_kept", &[KeepsSecrets, FailedIsForgotten]),
    ("messages_are_settled_together", &[SettlesFirstOnly]),
    ("messages_follow_a_chat_that_moved", &[DoesNothing("settle"), MovesEveryone, MovesNothingLater]),
    ("a_label_names_the_message_sent_last", &[KeepsTheFirstLabel, LabelsWithoutChat, ForgetsAtRestart]),
    ("a_message_being_sent_is_known_after_a_restart", &[DoesNothing("sending"), SendingMarksAll]),
    ("a_message_can_be_marked_as_not_sent", &[DoesNothing("not_sent"), NotSentClearsAll, DoesNothing("sending")]),
    ("a_post_has_the_time_it_was_given", &[PostsAtItsOwnTime]),
    ("a_post_happens_once", &[PostsAlways, ForgetsAtRestart]),
    ("the_oldest_unsent_message_is_known", &[NewestForOldest]),
    ("an_effect_waits_until_it_is_finished", &[Drops(Piece::Effect), Reverses("effects"), IgnoresAfter("effects")]),
    ("an_effect_is_replaced_by_its_outcome_once", &[KeepsFinishedEffects, DoesNothing("finish_effect")]),
    ("an_outcome_is_processed_once", &[IgnoresTaken]),
    ("a_job_runs_once_until_it_completes", &[DoesNothing("update_jobs"), StartsRunningJobs, ForgetsAtRestart]),
    ("jobs_start_in_their_order", &[Reverses("start_jobs")]),
    ("a_job_starts_at_its_time", &[StartsJobsEarly, HidesDueJobs, AlwaysStartsScheduled]),
    ("a_queue_starts_only_its_own_jobs", &[MixesQueues, IgnoresLimit("start_jobs")]),
    ("attempts_are_counted_over_restarts", &[ForgetsAttempts, LosesJobFailures, DoesNothing("update_jobs")]),
    ("an_ended_attempt_completes_nothing", &[IgnoresAttempt]),
    (
        "an_old_instance_cannot_run_jobs",
        &[
            IgnoresEpoch("start_jobs"),
            IgnoresEpoch("update_jobs"),
            IgnoresEpoch("prune_jobs"),
            IgnoresEpoch("tick_jobs"),
        ],
    ),
    ("jobs_are_enqueued_without_a_lease", &[DoesNothing("enqueue_jobs"), ForgetsAtRestart]),
    ("a_unique_job_is_added_once", &[IgnoresUnique, UniqueForEver]),
    ("a_unique_job_has_a_period", &[IgnoresUnique, UniqueForEver]),
    ("a_job_of_an_effect_is_added_once", &[IgnoresUnique]),
    ("a_paused_queue_starts_nothing", &[DoesNothing("request_jobs"), ForgetsPauses, ShowsPausedQueues]),
    ("a_job_can_be_cancelled", &[DoesNothing("request_jobs"), HidesCancels]),
    ("a_request_to_cancel_outlives_its_attempt", &[DoesNothing("request_jobs"), RunsCancelledJobs]),
    ("a_job_can_be_run_again", &[DoesNothing("request_jobs")]),
    ("finished_jobs_are_pruned", &[DoesNothing("prune_jobs"), PrunesAllJobs, IgnoresNumberOfJobs, KeepsResults]),
    ("a_tick_happens_once", &[IgnoresTicks]),
    ("jobs_are_listed_by_a_filter", &[Reverses("jobs"), IgnoresAfter("jobs"), IgnoresLimit("jobs"), IgnoresTheFilter]),
    ("jobs_are_counted", &[CountsNothing, NewestForOldest, CountsAllAsRecent]),
    ("each_bot_has_its_own_jobs", &[MixesBots]),
    ("a_job_of_refused_writes_is_not_added", &[KeepsRefusedWrites]),
    ("last_writes_commit_with_their_job", &[WritesAfterJobs, IgnoresAttempt]),
    ("an_old_instance_cannot_write_for_jobs", &[IgnoresEpoch("update_jobs")]),
    ("timers_are_due_in_order", &[Reverses("due_timers"), FiresEarly, IgnoresLimit("due_timers"), Drops(Piece::Timer)]),
    ("a_timer_set_again_replaces_the_old_one", &[KeepsFormerTimers]),
    ("a_cancelled_timer_does_not_fire", &[IgnoresCancels]),
    ("a_timer_fires_once", &[IgnoresTaken]),
    ("a_timer_can_be_set_again_as_it_fires", &[ReversesTimerChanges]),
    ("timers_of_two_conversations_are_separate", &[TimersByNameOnly]),
    ("a_conversation_expires_at_its_expiry", &[NeverExpires, ExpiresEarly, Reverses("expired")]),
    ("a_turn_postpones_the_expiry", &[KeepsTheFirstExpiry]),
    ("the_next_due_time_is_the_earliest", &[NextDueWithoutTimers, NextDueWithoutExpiry]),
    ("a_parked_update_counts_as_processed", &[ParksWithoutTaking]),
    ("a_parked_timer_is_no_longer_due", &[ParksWithoutTaking]),
    ("an_input_is_parked_once", &[ParksTwice]),
    ("messages_of_a_parked_turn_are_sent", &[ParksSilently, Reverses("unsent"), ForgetsAtRestart]),
    ("a_refused_parking_sends_nothing", &[ParksTwice, SaysWithoutParking]),
    ("a_parked_turn_is_found_by_its_id", &[FindsAnyParked, HidesOneParked]),
    ("parked_turns_are_listed_oldest_first", &[Reverses("parked")]),
    ("a_parked_turn_runs_again_when_asked", &[DoesNothing("retry_parked"), Drops(Piece::Take)]),
    ("a_parked_turn_is_processed_once", &[IgnoresTaken]),
    ("a_parked_turn_can_be_parked_again", &[ParksWithoutTaking]),
    ("a_parked_turn_can_be_dropped", &[DoesNothing("drop_parked")]),
    ("cleaning_removes_old_rows", &[DoesNothing("clean")]),
    ("cleaning_keeps_young_rows", &[CleansAll]),
    ("cleaning_keeps_rows_still_needed", &[CleansWhatWaits]),
    ("a_post_can_be_repeated_after_its_retention", &[DoesNothing("clean"), CleansAll]),
    ("old_labels_are_removed", &[DoesNothing("clean"), CleansAll, LabelsWithoutAge]),
    ("parked_turns_are_kept_up_to_a_limit", &[DoesNothing("clean"), CleansAll, CleansNewestParked]),
    ("versions_do_not_restart_after_cleaning", &[RestartsVersions]),
    ("a_forgotten_person_leaves_nothing", &[DoesNothing("forget")]),
    ("forgetting_a_person_affects_no_others", &[DoesNothing("forget"), ForgetsEveryone]),
    ("a_turn_of_a_forgotten_person_is_overtaken", &[DoesNothing("forget"), IgnoresVersion]),
    ("a_forgotten_update_is_not_processed_again", &[DoesNothing("forget"), ForgetsTakenMarks]),
    ("conversations_are_listed_in_pages", &[Reverses("list"), IgnoresAfter("list")]),
    ("a_list_follows_its_filter", &[IgnoresTheFilter]),
    ("a_reset_ends_a_conversation", &[DoesNothing("reset"), IgnoresVersion]),
    ("an_export_can_be_imported", &[DoesNothing("import")]),
    ("an_import_replaces_only_when_asked", &[ImportsAlways, DoesNothing("import")]),
    ("an_import_overtakes_a_running_turn", &[DoesNothing("import"), IgnoresVersion]),
    ("an_import_never_lowers_a_version", &[ImportsOldVersions]),
    ("statistics_count_the_rows", &[CountsNothing, CountsAllBots]),
    ("the_oldest_input_and_effect_are_known", &[NewestForOldest, CountsNothing]),
    ("transitions_are_recorded_in_order", &[Reverses("transitions"), IgnoresAfter("transitions")]),
    (
        "transitions_can_be_read_by_conversation",
        &[
            MixesConversations,
            Reverses("transitions_of"),
            IgnoresAfter("transitions_of"),
            IgnoresLimit("transitions_of"),
        ],
    ),
    ("bots_with_data_are_listed", &[HidesBots]),
];

/// The cases that need a database.
const WITH_TABLES: [&str; 3] = [
    "a_job_of_refused_writes_is_not_added",
    "last_writes_commit_with_their_job",
    "an_old_instance_cannot_write_for_jobs",
];

/// The same wrapper without a fault: so a broken store fails because of its fault.
mod without_fault {
    opora::store_conformance!(|| async { super::Broken::new(super::Fault::Nothing) });

    #[tokio::test]
    async fn cases_with_tables() {
        for name in super::WITH_TABLES {
            (super::case(name).check)(super::subject_with_tables(super::Fault::Nothing).await).await;
        }
    }
}

#[test]
fn every_case_rejects_its_broken_stores() {
    hide_expected_panics();
    let mut passed = Vec::new();
    for (name, faults) in FAULTS_BY_CASE {
        let case = case(name);
        for fault in *faults {
            if passes(case, *fault) {
                passed.push(format!("{name} passed on {fault:?}"));
            }
        }
    }
    assert!(passed.is_empty(), "broken stores went unnoticed:\n{}", passed.join("\n"));
}

#[test]
fn every_case_has_a_broken_store() {
    let cases: BTreeSet<_> = CASES.iter().map(|case| case.name).collect();
    let covered: BTreeSet<_> =
        FAULTS_BY_CASE.iter().filter(|(_, faults)| !faults.is_empty()).map(|(name, _)| *name).collect();
    assert_eq!(cases, covered);
    assert_eq!(cases.len(), CASES.len(), "names are unique");
}

/// Runs a case on a named thread, by which its panics are recognized.
fn passes(case: Case, fault: Fault) -> bool {
    let thread = std::thread::Builder::new().name(BROKEN_THREAD.to_owned());
    let has_tables = WITH_TABLES.contains(&case.name);
    let subject = async move || if has_tables { subject_with_tables(fault).await } else { subject(fault).await };
    thread.spawn(move || run(case.check, subject)).unwrap().join().is_ok()
}

/// Hides the expected panics of broken stores, which would hide all other messages.
fn hide_expected_panics() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(BROKEN_THREAD) {
            loud(panic);
        }
    }));
}

fn case(name: &str) -> Case {
    *CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no case {name}"))
}

/// A store over a file of its own, which is gone when the case ends.
async fn subject_with_tables(fault: Fault) -> Subject {
    let folder = tempfile::tempdir().unwrap();
    let inner = SqliteStore::open(&folder.path().join("opora.db")).await.unwrap();
    let store: Arc<dyn Store> = Arc::new(Broken::over(Arc::new(inner), fault));
    // No case of these reopens its store; the closure only keeps the folder.
    Subject::reopening(Arc::clone(&store), move || {
        let _ = &folder;
        std::future::ready(Arc::clone(&store))
    })
}

async fn subject(fault: Fault) -> Subject {
    let store: Arc<dyn Store> = Arc::new(Broken::new(fault));
    if fault != ForgetsAtRestart {
        return Subject::new(store);
    }
    Subject::reopening(store, || async { Arc::new(Broken::forgetful(&holder("first"), BOT).await) as Arc<dyn Store> })
}
