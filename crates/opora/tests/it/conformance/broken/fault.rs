//! The faults of broken stores.

/// What is wrong with a store. A text names the faulty method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault: shows that a broken store fails because of its fault alone.
    Nothing,
    /// Confirms the call and does nothing.
    DoesNothing(&'static str),
    /// Accepts writes after the end of the lease.
    IgnoresEpoch(&'static str),
    /// Starts every page at the beginning.
    IgnoresAfter(&'static str),
    /// Returns more than the limit.
    IgnoresLimit(&'static str),
    /// Returns rows in the wrong order.
    Reverses(&'static str),
    /// Is empty after a restart.
    ForgetsAtRestart,

    HidesTheLease,
    GivesTheLeaseToAnyone,
    NeverTakesOver,
    IgnoresRenewals,
    TakesOverAnyLease,
    RestartsEpochs,
    OneLeaseForAllBots,

    ForgetsWaitingMarks,
    ForgetsTakenMarks,
    KnowsById,
    LeavesDirectRows,
    ReversesReceipts,
    DeliversUnderTheLease,
    DeliversBefore,
    DeliversAsFirst,
    MixesConversations,
    MixesBots,
    HidesBots,

    /// Commits without this part.
    Drops(Piece),
    /// Refuses a commit and still stores this part of it.
    Leaves(Piece),
    IgnoresVersion,
    IgnoresTaken,
    OldVersionFirst,
    KeyWithout(&'static str),
    VersionStaysOnKeep,
    KeepClears,
    RestartsVersions,
    KeepsEnded,
    CutsAtNul,
    CutsLong,
    IgnoresWrites,
    GivesTheSameNumber,

    LosesUploads,
    LosesIfUnsure,
    LosesPriority,
    LosesLabels,
    KeepsSecrets,
    ForgetsEveryone,
    FailedIsForgotten,
    FailedStays,
    SettlesFirstOnly,
    MovesEveryone,
    MovesNothingLater,
    KeepsTheFirstLabel,
    LabelsWithoutChat,
    SendingMarksAll,
    NotSentClearsAll,
    PostsAlways,
    PostsAtItsOwnTime,
    NewestForOldest,
    /// Every finished job has finished lately.
    CountsAllAsRecent,

    KeepsFinishedEffects,
    StartsJobsEarly,
    StartsRunningJobs,
    MixesQueues,
    ForgetsAttempts,
    LosesJobFailures,
    IgnoresAttempt,
    IgnoresUnique,
    UniqueForEver,
    HidesDueJobs,
    /// Looks for scheduled jobs, asked or not.
    AlwaysStartsScheduled,
    ShowsPausedQueues,
    KeepsRefusedWrites,
    /// Updates jobs, and then makes their writes in a commit of their own.
    WritesAfterJobs,
    HidesCancels,
    RunsCancelledJobs,
    ForgetsPauses,
    PrunesAllJobs,
    IgnoresNumberOfJobs,
    KeepsResults,
    IgnoresTicks,

    FiresEarly,
    KeepsFormerTimers,
    IgnoresCancels,
    ReversesTimerChanges,
    TimersByNameOnly,
    NeverExpires,
    ExpiresEarly,
    KeepsTheFirstExpiry,
    NextDueWithoutTimers,
    NextDueWithoutExpiry,

    ParksWithoutTaking,
    ParksTwice,
    ParksSilently,
    SaysWithoutParking,
    FindsAnyParked,
    HidesOneParked,
    CleansAll,
    CleansNewestParked,
    LabelsWithoutAge,
    CleansWhatWaits,
    IgnoresTheFilter,
    ImportsAlways,
    ImportsOldVersions,
    CountsNothing,
    CountsAllBots,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    State,
    Outgoing,
    Timer,
    Effect,
    Transition,
    Take,
    Mark,
}
