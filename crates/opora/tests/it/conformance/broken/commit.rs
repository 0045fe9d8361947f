//! Spoilt turns.

use opora::key::DialogueKey;
use opora::store::{
    Commit, Committed, Epoch, Mark, Opened, OutboxId, StateChange, Store, StoreError, StoreResult, Taken, TimerChange,
    Version,
};

use super::remains::Remains;
use super::{Broken, Fault, Piece};

impl Broken {
    pub(super) async fn spoilt_open(&self, key: &DialogueKey, mark: Option<&Mark>) -> StoreResult<Opened> {
        let key = self.key(key);
        if mark.is_some_and(|mark| self.remains.lock().marks_taken.contains(mark)) {
            return Ok(Opened::AlreadyTaken);
        }
        let mark = mark.map(|mark| self.spoilt_mark(mark));
        let opened = self.inner.open(&key, mark.as_ref()).await?;
        let Opened::At { mut version, mut stored } = opened else { return Ok(opened) };
        if self.how == Fault::RestartsVersions && stored.is_none() {
            version = Version(0);
        }
        if let Some((_, old)) = self.imported.lock().iter().find(|(of, _)| *of == key) {
            version = *old;
        }
        if let Some((_, left)) = self.remains.lock().states.iter().find(|(of, _)| *of == key) {
            stored = Some(left.clone());
        }
        Ok(Opened::At { version, stored })
    }

    pub(super) async fn spoilt_commit(&self, epoch: Epoch, mut commit: Commit) -> StoreResult<Committed> {
        let epoch = self.epoch("commit", epoch).await;
        let (from, keeps) = (commit.from, commit.state == StateChange::Keep);
        self.spoil(&mut commit).await?;
        let remains = match self.how {
            Fault::Leaves(piece) => Remains::of(piece, &commit),
            _ => Remains::default(),
        };
        let again = self.again(&commit);
        let (key, asked) = (commit.key.clone(), commit.from);
        match self.inner.commit(epoch, commit).await {
            Ok(mut committed) => {
                if self.how == Fault::VersionStaysOnKeep && keeps {
                    committed.version = from;
                }
                if self.how == Fault::GivesTheSameNumber {
                    committed.outbox.fill(OutboxId(1));
                }
                Ok(committed)
            }
            Err(StoreError::AlreadyTaken) if self.how == Fault::IgnoresTaken => self.inner.commit(epoch, again).await,
            Err(StoreError::AlreadyTaken)
                if self.how == Fault::OldVersionFirst && self.version(&key).await? != asked =>
            {
                Err(StoreError::Overtaken(key))
            }
            Err(StoreError::Overtaken(_)) if self.how == Fault::IgnoresVersion => self.insist(epoch, again).await,
            Err(refusal) => {
                *self.remains.lock() = remains;
                Err(refusal)
            }
        }
    }

    /// Changes what is asked for, before the sound store does it.
    async fn spoil(&self, commit: &mut Commit) -> StoreResult<()> {
        commit.key = self.key(&commit.key);
        match self.how {
            Fault::Drops(Piece::State) => commit.state = StateChange::Keep,
            Fault::Drops(Piece::Outgoing) => commit.outgoing.clear(),
            Fault::Drops(Piece::Timer) => commit.timers.clear(),
            Fault::Drops(Piece::Effect) => commit.effects.clear(),
            Fault::Drops(Piece::Transition) => commit.transition = None,
            Fault::Drops(Piece::Take) => commit.takes.clear(),
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
            if self.how == Fault::KeepsTheFirstEnd
                && let Opened::At { stored: Some(former), .. } = self.inner.open(&commit.key, None).await?
            {
                stored.expires_at = former.expires_at.or(stored.expires_at);
            }
        }
        for taken in &mut commit.takes {
            // Another identity of the update is what does not reach its row, or its mark.
            if let (Fault::LeavesFreshRows, Taken::Fresh(mark)) = (self.how, &mut *taken) {
                mark.identity = format!("{} as another", mark.identity).into();
            }
            if let Taken::Update { mark, .. } | Taken::Fresh(mark) = taken {
                *mark = self.spoilt_mark(mark);
                if matches!(self.how, Fault::ForgetsTakenMarks | Fault::Drops(Piece::Mark)) {
                    mark.identity = format!("lost {}", self.fresh()).into();
                }
            }
        }
        self.spoil_timers(commit);
        self.spoil_outgoing(&mut commit.outgoing);
        Ok(())
    }

    fn spoil_timers(&self, commit: &mut Commit) {
        for change in &mut commit.timers {
            if let (Fault::KeepsFormerTimers, TimerChange::Set { name, .. }) = (self.how, change) {
                *name = format!("{name} {}", self.fresh()).into();
            }
        }
    }

    /// The same turn, without what it takes.
    fn again(&self, commit: &Commit) -> Commit {
        let mut again = Commit::new(commit.key.clone(), commit.from, commit.at);
        again.state = commit.state.clone();
        again.outgoing = commit.outgoing.clone();
        again
    }

    /// Commits from whatever version there is.
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

    async fn version(&self, key: &DialogueKey) -> StoreResult<Version> {
        match self.inner.open(key, None).await? {
            Opened::At { version, .. } => Ok(version),
            Opened::AlreadyTaken => Err(StoreError::AlreadyTaken),
        }
    }

    pub(super) fn cut(&self, text: &str) -> Box<str> {
        match self.how {
            Fault::CutsAtNul => text.split('\0').next().unwrap_or_default().into(),
            Fault::CutsLong => text.chars().take(20_000).collect::<String>().into(),
            _ => text.into(),
        }
    }
}
