//! Faults of turns.

use opora::key::ConversationKey;
use opora::store::{
    Commit, Committed, Epoch, InputRef, Mark, Opened, OutboxId, StateChange, StoreError, StoreResult, TimerChange,
    Version,
};

use super::leftovers::Leftovers;
use super::{Broken, Fault, Piece};

impl Broken {
    pub(super) async fn broken_open(&self, key: &ConversationKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let key = self.key(key);
        if mark.is_some_and(|mark| self.leftovers.lock().marks_taken.contains(mark)) {
            return Ok(Opened::AlreadyProcessed);
        }
        let mark = mark.map(|mark| self.broken_mark(mark));
        let opened = self.inner.open(&key, mark.as_ref()).await?;
        let Opened::At { mut version, mut stored } = opened else { return Ok(opened) };
        if self.fault == Fault::RestartsVersions && stored.is_none() {
            version = Version(0);
        }
        if let Some((_, old)) = self.imported.lock().iter().find(|(of, _)| *of == key) {
            version = *old;
        }
        if let Some((_, left)) = self.leftovers.lock().states.iter().find(|(of, _)| *of == key) {
            stored = Some(left.clone());
        }
        Ok(Opened::At { version, stored })
    }

    pub(super) async fn broken_commit(&self, epoch: Epoch, mut commit: Commit) -> StoreResult<Committed> {
        let epoch = self.epoch("commit", epoch).await;
        let (from, keeps) = (commit.from, commit.state == StateChange::Keep);
        self.change_commit(&mut commit).await?;
        let remains = match self.fault {
            Fault::Leaves(piece) => Leftovers::of(piece, &commit),
            _ => Leftovers::default(),
        };
        let again = self.again(&commit);
        let (key, asked) = (commit.key.clone(), commit.from);
        match self.inner.commit(epoch, commit).await {
            Ok(mut committed) => {
                if self.fault == Fault::VersionStaysOnKeep && keeps {
                    committed.version = from;
                }
                if self.fault == Fault::GivesTheSameNumber {
                    committed.outbox.fill(OutboxId(1));
                }
                Ok(committed)
            }
            Err(StoreError::AlreadyProcessed) if self.fault == Fault::IgnoresTaken => {
                self.inner.commit(epoch, again).await
            }
            Err(StoreError::AlreadyProcessed)
                if self.fault == Fault::OldVersionFirst && self.version(&key).await? != asked =>
            {
                Err(StoreError::Overtaken(key))
            }
            Err(StoreError::Overtaken(_)) if self.fault == Fault::IgnoresVersion => self.insist(epoch, again).await,
            Err(refusal) => {
                *self.leftovers.lock() = remains;
                Err(refusal)
            }
        }
    }

    /// Changes the commit before the correct store runs it.
    async fn change_commit(&self, commit: &mut Commit) -> StoreResult<()> {
        commit.key = self.key(&commit.key);
        match self.fault {
            Fault::Drops(Piece::State) => commit.state = StateChange::Keep,
            Fault::Drops(Piece::Outgoing) => commit.outgoing.clear(),
            Fault::Drops(Piece::Timer) => commit.timers.clear(),
            Fault::Drops(Piece::Effect) => commit.effects.clear(),
            Fault::Drops(Piece::Transition) => commit.transition = None,
            Fault::Drops(Piece::Take) => commit.processed.clear(),
            Fault::KeepClears if commit.state == StateChange::Keep => commit.state = StateChange::Clear,
            Fault::KeepsEnded if commit.state == StateChange::Clear => commit.state = StateChange::Keep,
            Fault::RestartsVersions if commit.from == Version(0) => commit.from = self.version(&commit.key).await?,
            Fault::IgnoresWrites => commit.writes = None,
            Fault::ReversesTimerChanges => commit.timers.reverse(),
            Fault::IgnoresCancels => commit.timers.retain(|change| !matches!(change, TimerChange::Cancel(_))),
            _ => (),
        }
        if let StateChange::Set(stored) = &mut commit.state {
            stored.value = self.cut(&stored.value);
            if self.fault == Fault::KeepsTheFirstExpiry
                && let Opened::At { stored: Some(former), .. } = self.inner.open(&commit.key, None).await?
            {
                stored.expires_at = former.expires_at.or(stored.expires_at);
            }
        }
        for taken in &mut commit.processed {
            // With another identity the update does not match its row or its mark.
            if let (Fault::LeavesDirectRows, InputRef::DirectUpdate(mark)) = (self.fault, &mut *taken) {
                mark.identity = format!("{} as another", mark.identity).into();
            }
            if let InputRef::Update { mark, .. } | InputRef::DirectUpdate(mark) = taken {
                *mark = self.broken_mark(mark);
                if matches!(self.fault, Fault::ForgetsTakenMarks | Fault::Drops(Piece::Mark)) {
                    mark.identity = format!("lost {}", self.next_number()).into();
                }
            }
        }
        self.change_timers(commit);
        self.change_outgoing(&mut commit.outgoing);
        Ok(())
    }

    fn change_timers(&self, commit: &mut Commit) {
        for change in &mut commit.timers {
            if let (Fault::KeepsFormerTimers, TimerChange::Set { name, .. }) = (self.fault, change) {
                *name = format!("{name} {}", self.next_number()).into();
            }
        }
    }

    /// The same turn without its inputs.
    fn again(&self, commit: &Commit) -> Commit {
        let mut again = Commit::new(commit.key.clone(), commit.from, commit.at);
        again.state = commit.state.clone();
        again.outgoing = commit.outgoing.clone();
        again
    }

    async fn insist(&self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        loop {
            let mut again = self.again(&commit);
            again.from = self.version(&commit.key).await?;
            match self.inner.commit(epoch, again).await {
                Err(StoreError::Overtaken(_)) => (),
                answer => return answer,
            }
        }
    }

    async fn version(&self, key: &ConversationKey) -> StoreResult<Version> {
        match self.inner.open(key, None).await? {
            Opened::At { version, .. } => Ok(version),
            Opened::AlreadyProcessed => Err(StoreError::AlreadyProcessed),
        }
    }

    pub(super) fn cut(&self, text: &str) -> Box<str> {
        match self.fault {
            Fault::CutsAtNul => text.split('\0').next().unwrap_or_default().into(),
            Fault::CutsLong => text.chars().take(20_000).collect::<String>().into(),
            _ => text.into(),
        }
    }
}
