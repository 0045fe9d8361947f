//! The promises that can be broken.

/// How a store is broken. A text names the method that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not: this proves that a twin fails by its fault alone.
    Nothing,
    /// Says that it was done, and does nothing.
    Confirms(&'static str),
    /// Takes writes of an instance whose lease is over.
    IgnoresEpoch(&'static str),
    /// Begins every page anew.
    IgnoresAfter(&'static str),
    /// Answers more than was asked for.
    IgnoresLimit(&'static str),
    /// Answers in the wrong order.
    Reverses(&'static str),
    /// Opens empty after a restart.
    ForgetsAtRestart,

    HidesTheLease,
    GivesTheLeaseToAnyone,
    NeverTakesOver,
    IgnoresRenewals,
    TakesOverByAnySight,
    RestartsEpochs,
    OneLeaseForAllBots,

    ForgetsWaitingMarks,
    ForgetsTakenMarks,
    KnowsById,
    LeavesFreshRows,
    ReversesReceipts,
    DeliversUnderTheLease,
    DeliversBefore,
    DeliversAsFirst,
    MixesConversations,
    MixesBots,
    HidesBots,

    /// Commits without this part.
    Drops(Piece),
    /// Refuses a commit and keeps this part of it all the same.
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
    LosesLabels,
    KeepsSecrets,
    ForgetsEverybody,
    FailedIsForgotten,
    FailedStays,
    SettlesFirstOnly,
    MovesEverybody,
    MovesNothingLater,
    KeepsTheFirstLabel,
    LabelsWithoutChat,
    SendingMarksAll,
    NotSentClearsAll,
    PostsAlways,
    PostsAtItsOwnTime,
    NewestForOldest,

    KeepsFinishedEffects,
    FiresEarly,
    KeepsFormerTimers,
    IgnoresCancels,
    ReversesTimerChanges,
    TimersByNameOnly,
    NeverExpires,
    ExpiresEarly,
    KeepsTheFirstEnd,
    NextDueWithoutTimers,
    NextDueWithoutLives,

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

/// A part of a commit.
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
