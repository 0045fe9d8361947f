//! For every case a store that breaks its promise: a suite that such a store passes would be worth nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use opora::store::Store;
use opora::testing::conformance::{CASES, Case, Subject, run};
use opora::testing::holder;

use super::broken::Fault::*;
use super::broken::{Broken, Fault, Piece};

/// The bot that the cases run, see their module.
const BOT: i64 = 7_000_000_001;

/// The name of the threads on which twins run.
const TWIN: &str = "broken twin";

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

/// The twins of each case.
const TWINS: &[(&str, &[Fault])] = &[
    ("a_free_lease_is_granted_and_shown", &[HidesTheLease]),
    ("a_held_lease_is_not_given_away", &[GivesTheLeaseToAnyone]),
    ("a_lease_that_was_not_renewed_is_taken_over", &[NeverTakesOver, IgnoresEpoch("renew")]),
    ("a_lease_that_was_renewed_is_not_taken_over", &[IgnoresRenewals, Confirms("renew")]),
    ("a_lease_of_a_later_holder_is_not_taken_over", &[TakesOverByAnySight]),
    ("a_released_lease_is_free_at_once", &[Confirms("release")]),
    ("a_cleared_lease_fences_its_holder", &[Confirms("clear_lease")]),
    ("epochs_rise_with_every_owner", &[RestartsEpochs]),
    ("of_many_takeovers_one_succeeds", &[TakesOverByAnySight]),
    ("an_old_holder_can_neither_renew_nor_release", &[IgnoresEpoch("renew"), IgnoresEpoch("release")]),
    ("the_leases_of_two_bots_are_apart", &[OneLeaseForAllBots]),
    ("an_old_instance_cannot_receive", &[IgnoresEpoch("receive")]),
    ("an_old_instance_cannot_commit", &[IgnoresEpoch("commit"), LEAVES[0], LEAVES[1], LEAVES[2], LEAVES[3], LEAVES[4]]),
    ("an_old_instance_cannot_park", &[IgnoresEpoch("park")]),
    ("an_old_instance_cannot_mark_as_sending", &[IgnoresEpoch("sending")]),
    ("an_old_instance_cannot_mark_as_not_sent", &[IgnoresEpoch("not_sent")]),
    ("an_old_instance_cannot_settle", &[IgnoresEpoch("settle")]),
    ("an_old_instance_cannot_post", &[IgnoresEpoch("post")]),
    ("an_old_instance_cannot_finish_an_effect", &[IgnoresEpoch("finish_effect")]),
    ("an_old_instance_cannot_clean", &[IgnoresEpoch("clean")]),
    ("an_update_is_received_once", &[ForgetsWaitingMarks, Confirms("receive")]),
    ("an_update_repeated_in_a_batch_is_received_once", &[ForgetsWaitingMarks]),
    (
        "an_update_that_comes_again_while_its_turn_commits_is_taken_once",
        &[ForgetsWaitingMarks, ForgetsTakenMarks, Drops(Piece::Take)],
    ),
    ("an_update_that_was_taken_is_known", &[ForgetsTakenMarks, Drops(Piece::Take), ForgetsAtRestart]),
    ("the_same_id_with_another_identity_is_a_new_update", &[KnowsById]),
    ("receipts_come_in_the_order_of_the_batch", &[ReversesReceipts]),
    ("the_inbox_keeps_its_order_over_takeovers", &[Reverses("waiting")]),
    ("the_inbox_is_read_in_pages", &[IgnoresAfter("waiting"), IgnoresLimit("waiting")]),
    (
        "the_inputs_of_a_conversation_are_read_apart",
        &[MixesConversations, IgnoresAfter("waiting_for"), IgnoresLimit("waiting_for"), Reverses("waiting_for")],
    ),
    ("what_was_received_waits_after_a_restart", &[ForgetsAtRestart, Confirms("receive")]),
    ("each_bot_has_its_own_inbox", &[MixesBots, HidesBots]),
    ("a_fresh_update_is_taken_without_the_inbox", &[ForgetsTakenMarks, Drops(Piece::Take), ForgetsAtRestart]),
    ("a_fresh_update_that_came_into_the_inbox_leaves_it", &[Drops(Piece::Take), LeavesFreshRows]),
    ("a_fresh_update_is_taken_once", &[IgnoresTaken, ForgetsTakenMarks]),
    ("a_fresh_update_is_not_taken_beside_its_row", &[IgnoresTaken, LeavesFreshRows]),
    ("an_update_is_delivered_while_nobody_holds_the_lease", &[DeliversUnderTheLease, Confirms("deliver")]),
    ("an_update_is_delivered_once", &[ForgetsWaitingMarks]),
    ("a_taken_update_is_not_delivered_again", &[Drops(Piece::Take), ForgetsAtRestart]),
    ("of_many_deliveries_of_an_update_one_is_kept", &[ForgetsWaitingMarks]),
    ("what_is_delivered_stands_in_the_order_of_its_coming", &[DeliversBefore, Reverses("waiting_for")]),
    ("it_is_told_whether_others_wait", &[DeliversAsFirst]),
    ("what_was_delivered_waits_after_a_restart", &[ForgetsAtRestart, Confirms("deliver")]),
    ("what_waits_is_counted_up_to_a_limit", &[IgnoresLimit("backlog"), MixesBots]),
    ("a_commit_is_kept_whole", &DROPS),
    ("a_commit_is_kept_whole", &[ForgetsAtRestart]),
    ("a_commit_from_an_old_version_leaves_nothing", &LEAVES),
    ("a_commit_from_an_old_version_leaves_nothing", &[IgnoresVersion]),
    ("a_commit_of_a_taken_input_leaves_nothing", &LEAVES),
    ("a_commit_of_a_taken_input_leaves_nothing", &[IgnoresTaken]),
    ("an_update_is_taken_once", &[IgnoresTaken]),
    ("a_taken_input_is_told_before_an_old_version", &[OldVersionFirst]),
    ("of_many_commits_from_one_version_one_wins", &[IgnoresVersion]),
    ("many_conversations_go_on_side_by_side", &[KeyWithout("user")]),
    ("every_commit_raises_the_version_by_one", &[VersionStaysOnKeep, RestartsVersions]),
    ("a_kept_state_stays_as_it_was", &[KeepClears]),
    ("versions_do_not_restart_when_a_conversation_ends", &[RestartsVersions]),
    ("an_ended_conversation_has_no_state", &[KeepsEnded]),
    (
        "keys_differ_by_each_of_their_parts",
        &[KeyWithout("user"), KeyWithout("thread"), KeyWithout("business"), KeyWithout("sign")],
    ),
    ("texts_come_back_as_they_were", &[CutsAtNul, CutsLong]),
    ("refused_writes_leave_nothing_of_the_turn", &LEAVES),
    ("refused_writes_leave_nothing_of_the_turn", &[IgnoresWrites]),
    ("numbers_rise_from_commit_to_commit", &[GivesTheSameNumber, Drops(Piece::Transition), Reverses("transitions")]),
    ("messages_keep_the_order_in_which_they_were_said", &[Reverses("unsent"), ForgetsAtRestart]),
    ("the_outbox_is_read_in_pages", &[IgnoresAfter("unsent"), IgnoresLimit("unsent")]),
    ("a_call_comes_back_as_it_was_said", &[LosesUploads, LosesIfUnsure, LosesLabels]),
    ("a_sent_message_leaves_the_outbox", &[Confirms("settle")]),
    ("a_failed_message_is_set_aside", &[FailedIsForgotten, FailedStays]),
    (
        "failed_messages_are_shown_in_pages",
        &[FailedIsForgotten, IgnoresAfter("failed"), IgnoresLimit("failed"), Reverses("failed")],
    ),
    ("a_secret_that_failed_is_not_kept", &[KeepsSecrets, FailedIsForgotten]),
    ("messages_are_settled_together", &[SettlesFirstOnly]),
    ("messages_follow_a_chat_that_moved", &[Confirms("settle"), MovesEverybody, MovesNothingLater]),
    ("a_label_names_the_message_sent_last", &[KeepsTheFirstLabel, LabelsWithoutChat, ForgetsAtRestart]),
    ("a_message_in_the_act_of_sending_is_told_after_a_restart", &[Confirms("sending"), SendingMarksAll]),
    (
        "a_message_that_was_not_sent_after_all_is_told_as_such",
        &[Confirms("not_sent"), NotSentClearsAll, Confirms("sending")],
    ),
    ("a_post_bears_its_time", &[PostsAtItsOwnTime]),
    ("a_post_happens_once", &[PostsAlways, ForgetsAtRestart]),
    ("the_oldest_unsent_message_is_known", &[NewestForOldest]),
    ("an_effect_waits_until_it_is_finished", &[Drops(Piece::Effect), Reverses("effects"), IgnoresAfter("effects")]),
    ("an_effect_is_replaced_by_its_outcome_once", &[KeepsFinishedEffects, Confirms("finish_effect")]),
    ("an_outcome_is_taken_once", &[IgnoresTaken]),
    (
        "timers_are_due_in_the_order_of_their_times",
        &[Reverses("due_timers"), FiresEarly, IgnoresLimit("due_timers"), Drops(Piece::Timer)],
    ),
    ("a_timer_set_again_replaces_the_former", &[KeepsFormerTimers]),
    ("a_cancelled_timer_does_not_fire", &[IgnoresCancels]),
    ("a_timer_fires_once", &[IgnoresTaken]),
    ("a_timer_can_be_set_anew_as_it_fires", &[ReversesTimerChanges]),
    ("timers_of_two_conversations_are_apart", &[TimersByNameOnly]),
    ("a_conversation_expires_when_its_life_is_over", &[NeverExpires, ExpiresEarly, Reverses("expired")]),
    ("a_turn_extends_a_life", &[KeepsTheFirstEnd]),
    ("the_next_due_time_is_the_earliest_there_is", &[NextDueWithoutTimers, NextDueWithoutLives]),
    ("a_parked_update_counts_as_taken", &[ParksWithoutTaking]),
    ("a_parked_timer_is_due_no_more", &[ParksWithoutTaking]),
    ("an_input_is_parked_once", &[ParksTwice]),
    ("what_is_said_with_a_parked_turn_is_sent", &[ParksSilently, Reverses("unsent"), ForgetsAtRestart]),
    ("a_refused_parking_says_nothing", &[ParksTwice, SaysWithoutParking]),
    ("a_parked_turn_is_found_by_its_number", &[FindsAnyParked, HidesOneParked]),
    ("parked_turns_are_listed_oldest_first", &[Reverses("parked")]),
    ("a_parked_turn_runs_again_when_asked", &[Confirms("retry_parked"), Drops(Piece::Take)]),
    ("a_parked_turn_is_taken_once", &[IgnoresTaken]),
    ("a_parked_turn_can_be_parked_again", &[ParksWithoutTaking]),
    ("a_parked_turn_can_be_dropped", &[Confirms("drop_parked")]),
    ("cleaning_removes_what_is_old", &[Confirms("clean")]),
    ("cleaning_keeps_what_is_young", &[CleansAll]),
    ("cleaning_spares_what_is_still_needed", &[CleansWhatWaits]),
    ("a_post_can_be_repeated_after_its_time", &[Confirms("clean"), CleansAll]),
    ("labels_are_forgotten_after_their_time", &[Confirms("clean"), CleansAll, LabelsWithoutAge]),
    ("parked_turns_are_kept_up_to_a_number", &[Confirms("clean"), CleansAll, CleansNewestParked]),
    ("a_forgotten_conversation_does_not_restart_its_versions", &[RestartsVersions]),
    ("a_forgotten_person_leaves_nothing", &[Confirms("forget")]),
    ("forgetting_a_person_spares_the_others", &[Confirms("forget"), ForgetsEverybody]),
    ("a_turn_of_a_forgotten_person_is_overtaken", &[Confirms("forget"), IgnoresVersion]),
    ("a_forgotten_update_is_not_taken_again", &[Confirms("forget"), ForgetsTakenMarks]),
    ("conversations_are_listed_in_pages", &[Reverses("list"), IgnoresAfter("list")]),
    ("a_list_shows_what_the_filter_asks_for", &[IgnoresTheFilter]),
    ("a_reset_ends_a_conversation", &[Confirms("reset"), IgnoresVersion]),
    ("an_export_can_be_imported", &[Confirms("import")]),
    ("an_import_replaces_only_when_told", &[ImportsAlways, Confirms("import")]),
    ("an_import_is_noticed_by_a_turn", &[Confirms("import"), IgnoresVersion]),
    ("an_import_does_not_turn_versions_back", &[ImportsOldVersions]),
    ("statistics_count_what_is_there", &[CountsNothing, CountsAllBots]),
    ("transitions_are_recorded_in_order", &[Reverses("transitions"), IgnoresAfter("transitions")]),
    (
        "the_transitions_of_a_conversation_are_read_apart",
        &[
            MixesConversations,
            Reverses("transitions_of"),
            IgnoresAfter("transitions_of"),
            IgnoresLimit("transitions_of"),
        ],
    ),
    ("bots_with_anything_here_are_known", &[HidesBots]),
];

/// The store without a fault, behind the same wrapper: what fails below fails by its fault.
mod sound {
    opora::store_conformance!(|| async { super::Broken::new(super::Fault::Nothing) });
}

#[test]
fn every_case_finds_its_broken_twins_out() {
    quieten_twins();
    let mut passed = Vec::new();
    for (name, faults) in TWINS {
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
fn every_case_has_a_broken_twin() {
    let cases: BTreeSet<_> = CASES.iter().map(|case| case.name).collect();
    let twins: BTreeSet<_> = TWINS.iter().filter(|(_, faults)| !faults.is_empty()).map(|(name, _)| *name).collect();
    assert_eq!(cases, twins);
    assert_eq!(cases.len(), CASES.len(), "names are unique");
}

/// Runs a case on a thread by whose name its panics are known.
fn passes(case: Case, fault: Fault) -> bool {
    let twin = std::thread::Builder::new().name(TWIN.to_owned());
    twin.spawn(move || run(case.check, || subject(fault))).unwrap().join().is_ok()
}

/// Panics are what is expected of twins: their messages would hide all others.
fn quieten_twins() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(TWIN) {
            loud(panic);
        }
    }));
}

fn case(name: &str) -> Case {
    *CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no case {name}"))
}

async fn subject(fault: Fault) -> Subject {
    let store: Arc<dyn Store> = Arc::new(Broken::new(fault));
    if fault != ForgetsAtRestart {
        return Subject::new(store);
    }
    Subject::reopening(store, || async { Arc::new(Broken::forgetful(&holder("first"), BOT).await) as Arc<dyn Store> })
}
