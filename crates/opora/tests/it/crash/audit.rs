//! Checks after a run: people's diaries against what the bot sent and stored.
//!
//! Every violation begins with the invariant that it breaks:
//! - I1: every update is processed once;
//! - I2: every turn raises the version by one, along the dialogue;
//! - I3: no message is lost;
//! - I4: no more messages are repeated than were unrecorded;
//! - I5: no person gets another person's data;
//! - I6: every file has its row, and every row its file;
//! - I7: only the holder of the lease writes.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use opora::store::{Filter, StateName, Store, TransitionRow};

use super::people::{Diary, Scenario};
use super::stage::{BOT, Stage};

#[derive(Debug, Default)]
pub struct Audit {
    pub violations: Vec<String>,
    pub walks: usize,
    pub repeats: usize,
    pub allowed_repeats: usize,
}

impl Audit {
    /// Checks everything after a clean stop. `allowed_repeats` is the number of messages that may have been repeated.
    pub async fn of(stage: &Stage, scenario: Scenario, diaries: &[Diary], allowed_repeats: usize) -> Self {
        let mut audit = Self { allowed_repeats, ..Self::default() };
        for diary in diaries {
            audit.walks += diary.walks;
            audit.check_person(diary, &stage.transcript(diary.person).await);
        }
        if audit.repeats > allowed_repeats {
            audit.report(format!("I4: {} messages were repeated, {allowed_repeats} were unrecorded", audit.repeats));
        }
        let store = stage.store().await;
        audit.check_nothing_waits(&store).await;
        audit.check_turns(&store, scenario, diaries).await;
        store.close().await.unwrap();
        audit
    }

    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.violations.is_empty(), "{} violations:\n{}", self.violations.len(), self.first_violations());
    }

    pub fn violates(&self, invariant: &str) -> bool {
        self.violations.iter().any(|violation| violation.starts_with(invariant))
    }

    pub fn report(&mut self, violation: String) {
        self.violations.push(violation);
    }

    fn first_violations(&self) -> String {
        self.violations.iter().take(20).map(|violation| format!("  {violation}\n")).collect()
    }

    fn check_person(&mut self, diary: &Diary, said: &[String]) {
        let person = diary.person;
        if let Some(stuck) = &diary.stuck {
            self.report(format!("I1: {person} is stuck in {stuck}, after {:?}", said.last()));
        }
        if diary.unanswered_presses > 0 {
            self.report(format!("I3: {} presses of {person} were not answered", diary.unanswered_presses));
        }
        let mut next = 0;
        // The message about a store that is away is no part of the dialogue.
        for text in said.iter().filter(|text| !text.starts_with("One moment")) {
            if diary.expected.get(next) == Some(text) {
                next += 1;
            } else if diary.expected[..next].contains(text) {
                self.repeats += 1;
            } else if diary.expected[next..].contains(text) {
                self.report(format!("I2: {person} received `{text}` before {:?}", diary.expected[next]));
                return;
            } else {
                self.report(format!("I5: {person} received `{text}` instead of {:?}", diary.expected.get(next)));
                return;
            }
        }
        if next < diary.expected.len() && diary.stuck.is_none() {
            self.report(format!("I3: {person} never received `{}`", diary.expected[next]));
        }
    }

    /// Nothing waits, and nothing failed.
    async fn check_nothing_waits(&mut self, store: &Arc<dyn Store>) {
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
            self.report(format!("{what}: {count}"));
        }
    }

    async fn check_turns(&mut self, store: &Arc<dyn Store>, scenario: Scenario, diaries: &[Diary]) {
        let mut rows_by_person: HashMap<i64, Vec<TransitionRow>> = HashMap::new();
        for row in transitions(store).await {
            rows_by_person.entry(row.key.user).or_default().push(row);
        }
        let versions = versions(store).await;
        for diary in diaries {
            let inputs = i64::try_from(diary.inputs).unwrap();
            let version = versions.get(&diary.person).copied().unwrap_or_default();
            if diary.stuck.is_some() {
                if version == inputs {
                    self.report(format!(
                        "I3: all inputs of {} were processed, and the answer never came",
                        diary.person
                    ));
                }
                continue;
            }
            if version != inputs {
                self.report(format!("I1: {} sent {inputs} inputs and had {version} turns", diary.person));
            }
            self.check_transitions(diary, scenario, rows_by_person.get(&diary.person).map_or(&[], Vec::as_slice));
        }
    }

    fn check_transitions(&mut self, diary: &Diary, scenario: Scenario, rows: &[TransitionRow]) {
        self.check_epochs(rows);
        if !rows.is_sorted_by(|one, other| one.version < other.version) {
            self.report(format!("I2: versions of {} do not rise", diary.person));
        }
        let taken: Vec<_> = rows.iter().map(|row| (state(row.from.as_ref()), state(row.to.as_ref()))).collect();
        let states = scenario.states().iter().copied().map(Some);
        let stops: Vec<_> = std::iter::once(None).chain(states).chain(std::iter::once(None)).collect();
        let walk: Vec<_> = stops.windows(2).map(|pair| (pair[0], pair[1])).collect();
        if taken != walk.repeat(diary.walks) {
            self.report(format!("I2: {} walked {} times, but took {taken:?}", diary.person, diary.walks));
        }
    }

    /// Within a conversation, epochs only rise.
    fn check_epochs(&mut self, rows: &[TransitionRow]) {
        let mut rows: Vec<_> = rows.iter().collect();
        rows.sort_by_key(|row| row.version.0);
        // The high bits of a row's id are the epoch.
        for pair in rows.windows(2).map(|pair| [pair[0].id >> 40, pair[1].id >> 40]).filter(|pair| pair[0] > pair[1]) {
            self.report(format!("I7: epoch {} wrote after epoch {} had begun", pair[1], pair[0]));
        }
    }

    /// `writers` are the writing processes, in order. A process must not write again after another one has taken over.
    pub fn check_writers(&mut self, writers: &[u32]) {
        let mut former = BTreeSet::new();
        for pair in writers.windows(2).filter(|pair| pair[0] != pair[1]) {
            former.insert(pair[0]);
            if former.contains(&pair[1]) {
                return self.report(format!("I7: process {} wrote after {} had taken over", pair[1], pair[0]));
            }
        }
    }

    /// Every turn with SQL writes has written once. `written` has the person's id for each write.
    pub fn check_writes(&mut self, written: &[i64], diaries: &[Diary]) {
        for diary in diaries.iter().filter(|diary| diary.stuck.is_none()) {
            let expected = diary.signed_turns();
            let found = written.iter().filter(|person| **person == diary.person).count();
            if found != expected {
                self.report(format!("I1: {expected} turns of {} wrote {found} times", diary.person));
            }
        }
    }

    /// One complete file for each walk, and no partial files.
    pub fn check_files(&mut self, folder: &Path, diaries: &[Diary]) {
        let walks: usize = diaries.iter().map(|diary| diary.walks).sum();
        let names: BTreeSet<_> =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        if names.len() != walks || names.iter().any(|name| name.ends_with(".part")) {
            self.report(format!("I6: {walks} walks left {} files: {names:?}", names.len()));
        }
    }
}

fn state(place: Option<&StateName>) -> Option<&str> {
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

/// The number of turns of each person.
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

/// A transition, written under an epoch.
fn row(version: i64, epoch: i64, from: Option<&str>, to: Option<&str>) -> TransitionRow {
    let place = |state: &str| StateName { dialogue: "registration".into(), state: state.into() };
    TransitionRow {
        id: (epoch << 40) + 10 - version,
        key: opora::key::ConversationKey::private(BOT, 1),
        version: opora::store::Version(version),
        at: opora::clock::Millis(0),
        from: from.map(place),
        to: to.map(place),
        by: String::new(),
        took_us: 0,
    }
}

#[test]
fn a_turn_of_a_former_leader_is_found() {
    let row = |version: i64, epoch: i64| row(version, epoch, None, None);
    let mut audit = Audit::default();
    audit.check_epochs(&[row(1, 1), row(2, 1), row(3, 2), row(4, 2)]);
    audit.assert_clean();
    audit.check_epochs(&[row(1, 1), row(2, 2), row(3, 1)]);
    assert!(audit.violates("I7"), "{audit:?}");
}

#[test]
fn turns_out_of_order_are_found() {
    let states: Vec<_> = Scenario::Errand.states().iter().copied().map(Some).collect();
    let stops: Vec<_> = std::iter::once(None).chain(states).chain(std::iter::once(None)).collect();
    let walk = stops.windows(2).zip(1..).map(|(pair, version)| row(version, 1, pair[0], pair[1]));
    let mut walk: Vec<_> = walk.collect();
    let (diary, mut audit) = (Diary { walks: 1, ..Diary::default() }, Audit::default());
    audit.check_transitions(&diary, Scenario::Errand, &walk);
    audit.assert_clean();
    walk.swap(1, 2);
    audit.check_transitions(&diary, Scenario::Errand, &walk);
    assert!(audit.violates("I2"), "{audit:?}");
}

#[test]
fn data_of_another_person_is_found() {
    let expected = vec!["Your phone?".to_owned(), "done Anna".to_owned()];
    let (diary, mut audit) = (Diary { expected: expected.clone(), ..Diary::default() }, Audit::default());
    audit.check_person(&diary, &expected);
    audit.assert_clean();
    audit.check_person(&diary, &["Your phone?".to_owned(), "done Boris".to_owned()]);
    assert!(audit.violates("I5"), "{audit:?}");
}

#[test]
fn messages_out_of_order_are_found() {
    let expected = vec!["noted bread".to_owned(), "noted milk".to_owned()];
    let (diary, mut audit) = (Diary { expected: expected.clone(), ..Diary::default() }, Audit::default());
    audit.check_person(&diary, &expected);
    audit.assert_clean();
    audit.check_person(&diary, &["noted milk".to_owned(), "noted bread".to_owned()]);
    assert!(audit.violates("I2") && !audit.violates("I5"), "{audit:?}");
}
