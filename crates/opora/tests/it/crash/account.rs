//! What must hold when a run is over: people's diaries against what the bot has said and kept.
//!
//! Every complaint begins with the invariant that it breaks:
//! I1 every update is taken once · I2 every turn raises its version by one, along the dialogue · I3 nothing that was said
//! is forgotten · I4 no more is repeated than was in the act of sending · I5 nobody gets another one's data · I6 every
//! file has its row, every row its file · I7 nobody writes whose lease is over.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use opora::store::{Filter, Place, Store, TransitionRow};

use super::people::{Diary, Story};
use super::stage::{BOT, Stage};

/// The result of a run.
#[derive(Debug, Default)]
pub struct Account {
    pub complaints: Vec<String>,
    pub walks: usize,
    pub repeats: usize,
    /// How many repeats can be excused.
    pub excused: usize,
}

impl Account {
    /// Looks at everything after a clean stop. `excused` is how many sends may have been repeated.
    pub async fn of(stage: &Stage, story: Story, diaries: &[Diary], excused: usize) -> Self {
        let mut account = Self { excused, ..Self::default() };
        for diary in diaries {
            account.walks += diary.walks;
            account.person(diary, &stage.transcript(diary.person).await);
        }
        if account.repeats > excused {
            account.complain(format!("I4: {} messages were repeated, {excused} were in the act", account.repeats));
        }
        let store = stage.store().await;
        account.remains(&store).await;
        account.turns(&store, story, diaries).await;
        store.close().await.unwrap();
        account
    }

    /// Fails the test unless everything held.
    #[track_caller]
    pub fn is_clean(&self) {
        assert!(self.complaints.is_empty(), "{} complaints:\n{}", self.complaints.len(), self.first_complaints());
    }

    /// Whether an invariant was broken.
    pub fn breaks(&self, invariant: &str) -> bool {
        self.complaints.iter().any(|complaint| complaint.starts_with(invariant))
    }

    pub fn complain(&mut self, complaint: String) {
        self.complaints.push(complaint);
    }

    fn first_complaints(&self) -> String {
        self.complaints.iter().take(20).map(|complaint| format!("  {complaint}\n")).collect()
    }

    fn person(&mut self, diary: &Diary, said: &[String]) {
        let person = diary.person;
        if let Some(stuck) = &diary.stuck {
            self.complain(format!("I1: {person} is stuck in {stuck}, after {:?}", said.last()));
        }
        if diary.unanswered_presses > 0 {
            self.complain(format!("I3: {} presses of {person} were not answered", diary.unanswered_presses));
        }
        let mut next = 0;
        // Who has to wait for a store that is away is told so, whatever else was asked.
        for text in said.iter().filter(|text| !text.starts_with("One moment")) {
            if diary.expected.get(next) == Some(text) {
                next += 1;
            } else if diary.expected[..next].contains(text) {
                self.repeats += 1;
            } else if diary.expected[next..].contains(text) {
                self.complain(format!("I2: {person} was told `{text}` before {:?}", diary.expected[next]));
                return;
            } else {
                self.complain(format!("I5: {person} was told `{text}` in place of {:?}", diary.expected.get(next)));
                return;
            }
        }
        if next < diary.expected.len() && diary.stuck.is_none() {
            self.complain(format!("I3: {person} was never told `{}`", diary.expected[next]));
        }
    }

    /// Nothing waits any more, and nothing failed.
    async fn remains(&mut self, store: &Arc<dyn Store>) {
        let numbers = store.statistics(Some(BOT)).await.unwrap();
        let empty = [
            ("I1: inputs wait", numbers.inbox),
            ("I1: parked turns", numbers.parked),
            ("I3: messages wait", numbers.outbox),
            ("I3: failed messages", numbers.failed),
            ("I3: effects wait", numbers.effects),
            ("I3: timers wait", numbers.timers),
            ("I1: open conversations", numbers.active),
        ];
        for (what, count) in empty.into_iter().filter(|(_, count)| *count != 0) {
            self.complain(format!("{what}: {count}"));
        }
    }

    async fn turns(&mut self, store: &Arc<dyn Store>, story: Story, diaries: &[Diary]) {
        let mut moves: HashMap<i64, Vec<TransitionRow>> = HashMap::new();
        for row in transitions(store).await {
            moves.entry(row.key.user).or_default().push(row);
        }
        let versions = versions(store).await;
        for diary in diaries {
            let inputs = i64::try_from(diary.inputs).unwrap();
            let version = versions.get(&diary.person).copied().unwrap_or_default();
            if diary.stuck.is_some() {
                if version == inputs {
                    self.complain(format!("I3: everything of {} was taken, and the answer never came", diary.person));
                }
                continue;
            }
            if version != inputs {
                self.complain(format!("I1: {} sent {inputs} inputs and had {version} turns", diary.person));
            }
            self.chain(diary, story, moves.get(&diary.person).map_or(&[], Vec::as_slice));
        }
    }

    fn chain(&mut self, diary: &Diary, story: Story, moves: &[TransitionRow]) {
        self.epochs(moves);
        if !moves.is_sorted_by(|one, other| one.version < other.version) {
            self.complain(format!("I2: versions of {} do not rise", diary.person));
        }
        let taken: Vec<_> = moves.iter().map(|row| (state(row.from.as_ref()), state(row.to.as_ref()))).collect();
        let states = story.states().iter().copied().map(Some);
        let stops: Vec<_> = std::iter::once(None).chain(states).chain(std::iter::once(None)).collect();
        let walk: Vec<_> = stops.windows(2).map(|pair| (pair[0], pair[1])).collect();
        if taken != walk.repeat(diary.walks) {
            self.complain(format!("I2: {} walked {} times, but took {taken:?}", diary.person, diary.walks));
        }
    }

    /// Along a conversation the leases under which its turns were written only ever rise.
    fn epochs(&mut self, moves: &[TransitionRow]) {
        let mut moves: Vec<_> = moves.iter().collect();
        moves.sort_by_key(|row| row.version.0);
        // A row's number begins with the epoch that gave it.
        for pair in moves.windows(2).map(|pair| [pair[0].id >> 40, pair[1].id >> 40]).filter(|pair| pair[0] > pair[1]) {
            self.complain(format!("I7: epoch {} wrote after epoch {} had begun", pair[1], pair[0]));
        }
    }

    /// Who wrote, in order: nobody comes back after another one has taken over.
    pub fn leases(&mut self, writers: &[u32]) {
        let mut former = BTreeSet::new();
        for pair in writers.windows(2).filter(|pair| pair[0] != pair[1]) {
            former.insert(pair[0]);
            if former.contains(&pair[1]) {
                return self.complain(format!("I7: process {} wrote after {} had taken over", pair[1], pair[0]));
            }
        }
    }

    /// Every turn that writes has written once: `written` has its person's number for each write.
    pub fn writes(&mut self, written: &[i64], diaries: &[Diary]) {
        for diary in diaries.iter().filter(|diary| diary.stuck.is_none()) {
            let expected = diary.signed_turns();
            let found = written.iter().filter(|person| **person == diary.person).count();
            if found != expected {
                self.complain(format!("I1: {expected} turns of {} wrote {found} times", diary.person));
            }
        }
    }

    /// Files that were fetched: one for each walk, whole, and no remains of others.
    pub fn files(&mut self, folder: &Path, diaries: &[Diary]) {
        let walks: usize = diaries.iter().map(|diary| diary.walks).sum();
        let names: BTreeSet<_> =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        if names.len() != walks || names.iter().any(|name| name.ends_with(".part")) {
            self.complain(format!("I6: {walks} walks left {} files: {names:?}", names.len()));
        }
    }
}

fn state(place: Option<&Place>) -> Option<&str> {
    place.map(|place| &*place.state)
}

async fn transitions(store: &Arc<dyn Store>) -> Vec<TransitionRow> {
    let (mut rows, mut after) = (Vec::new(), i64::MIN);
    loop {
        let page = store.operator().transitions(BOT, after, 1000).await.unwrap();
        let Some(last) = page.last() else { return rows };
        after = last.id;
        rows.extend(page);
    }
}

/// How many turns each person has had.
pub async fn versions(store: &Arc<dyn Store>) -> HashMap<i64, i64> {
    let filter = Filter { bot: Some(BOT), ended: true, ..Filter::default() };
    let (mut versions, mut after) = (HashMap::new(), None);
    loop {
        let page = store.list(&filter, after.as_ref(), 1000).await.unwrap();
        let Some(last) = page.last() else { return versions };
        after = Some(last.key.clone());
        versions.extend(page.into_iter().map(|row| (row.key.user, row.version.0)));
    }
}

/// A move between two states, written under a lease.
fn row(version: i64, epoch: i64, from: Option<&str>, to: Option<&str>) -> TransitionRow {
    let place = |state: &str| Place { dialogue: "registration".into(), state: state.into() };
    TransitionRow {
        id: (epoch << 40) + 10 - version,
        key: opora::key::DialogueKey::private(BOT, 1),
        version: opora::store::Version(version),
        at: opora::clock::Millis(0),
        from: from.map(place),
        to: to.map(place),
        by: String::new(),
        took_us: 0,
    }
}

#[test]
fn a_turn_of_a_former_leader_is_found_out() {
    let row = |version: i64, epoch: i64| row(version, epoch, None, None);
    let mut account = Account::default();
    account.epochs(&[row(1, 1), row(2, 1), row(3, 2), row(4, 2)]);
    account.is_clean();
    account.epochs(&[row(1, 1), row(2, 2), row(3, 1)]);
    assert!(account.breaks("I7"), "{account:?}");
}

#[test]
fn turns_out_of_order_are_found_out() {
    let states: Vec<_> = Story::Errand.states().iter().copied().map(Some).collect();
    let stops: Vec<_> = std::iter::once(None).chain(states).chain(std::iter::once(None)).collect();
    let walk = stops.windows(2).zip(1..).map(|(pair, version)| row(version, 1, pair[0], pair[1]));
    let mut walk: Vec<_> = walk.collect();
    let (diary, mut account) = (Diary { walks: 1, ..Diary::default() }, Account::default());
    account.chain(&diary, Story::Errand, &walk);
    account.is_clean();
    walk.swap(1, 2);
    account.chain(&diary, Story::Errand, &walk);
    assert!(account.breaks("I2"), "{account:?}");
}

#[test]
fn what_belongs_to_somebody_else_is_found_out() {
    let expected = vec!["Your phone?".to_owned(), "done Anna".to_owned()];
    let (diary, mut account) = (Diary { expected: expected.clone(), ..Diary::default() }, Account::default());
    account.person(&diary, &expected);
    account.is_clean();
    account.person(&diary, &["Your phone?".to_owned(), "done Boris".to_owned()]);
    assert!(account.breaks("I5"), "{account:?}");
}

#[test]
fn what_is_told_before_its_turn_is_found_out_and_is_nobody_elses() {
    let expected = vec!["noted bread".to_owned(), "noted milk".to_owned()];
    let (diary, mut account) = (Diary { expected: expected.clone(), ..Diary::default() }, Account::default());
    account.person(&diary, &expected);
    account.is_clean();
    account.person(&diary, &["noted milk".to_owned(), "noted bread".to_owned()]);
    assert!(account.breaks("I2") && !account.breaks("I5"), "{account:?}");
}
