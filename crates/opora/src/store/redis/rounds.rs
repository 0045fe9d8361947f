//! Turns that are ready together go to the server together.
//!
//! While a round is on its way, what comes waits for the next one; then all of it goes at once, one call for each room.
//! So a turn alone waits for nobody, and the more there are, the less each costs. A round that fails, fails for all that
//! were in it; what became of each shows by its mark and its version.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::keys::{Keys, Thing};
use super::numbers::Own;
use super::rows::unreadable;
use super::wire::{Call, NotReached, Wire};
use super::witness::Witness;
use crate::store::{StoreError, StoreResult};

/// So many turns go in one call: the server does nothing else meanwhile.
const TURNS_AT_ONCE: usize = 64;

/// Gathers turns for the next round.
#[derive(Debug)]
pub(super) struct Rounds(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    wire: Arc<Wire>,
    keys: Arc<Keys>,
    witness: Arc<Witness>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    turns: Vec<Turn>,
    is_going: bool,
}

/// The room that is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Room {
    bot: i64,
    partition: usize,
    /// The epoch of a commit; an opening has none.
    epoch: Option<i64>,
}

/// A turn to be committed, as the server's function takes it.
#[derive(Debug)]
pub(super) struct Commits {
    pub(super) name: String,
    pub(super) marks: Vec<String>,
    pub(super) args: Vec<String>,
}

/// What a turn wants.
#[derive(Debug)]
struct Turn {
    room: Room,
    last: Thing,
    /// Of an opening, only `args` says something.
    says: Commits,
    answer: oneshot::Sender<StoreResult<Vec<String>>>,
}

/// A run of rounds. If it ends before its time, whoever waits is told, and the next turn starts another.
struct Going {
    shared: Arc<Shared>,
    is_done: bool,
}

impl Rounds {
    pub(super) fn new(wire: &Arc<Wire>, keys: &Arc<Keys>, witness: &Arc<Witness>) -> Self {
        let (wire, keys, witness) = (Arc::clone(wire), Arc::clone(keys), Arc::clone(witness));
        Self(Arc::new(Shared { wire, keys, witness, waiting: Mutex::default() }))
    }

    /// Opens a conversation: a word, and a text with it.
    pub(super) async fn open(&self, bot: i64, partition: usize, args: Vec<String>) -> StoreResult<(String, String)> {
        let says = Commits { name: String::new(), marks: Vec::new(), args };
        let mut answer = self.ask(Room { bot, partition, epoch: None }, Thing::Marks, says).await?.into_iter();
        Ok((answer.next().unwrap_or_default(), answer.next().unwrap_or_default()))
    }

    /// Commits a turn, and answers the word for it; the keys go along up to `last`.
    pub(super) async fn commit(&self, own: &Own, partition: usize, last: Thing, says: Commits) -> StoreResult<String> {
        let room = Room { bot: own.bot, partition, epoch: Some(own.epoch.0) };
        Ok(self.ask(room, last, says).await?.into_iter().next().unwrap_or_default())
    }

    async fn ask(&self, room: Room, last: Thing, says: Commits) -> StoreResult<Vec<String>> {
        let (answer, answered) = oneshot::channel();
        let is_first = {
            let mut waiting = self.0.waiting.lock();
            waiting.turns.push(Turn { room, last, says, answer });
            !std::mem::replace(&mut waiting.is_going, true)
        };
        if is_first {
            tokio::spawn(go(Arc::clone(&self.0)));
        }
        answered.await.unwrap_or_else(|_| Err(StoreError::Unavailable("a round of turns was broken off".into())))
    }
}

/// Goes round after round until nothing waits.
async fn go(shared: Arc<Shared>) {
    let mut going = Going { shared: Arc::clone(&shared), is_done: false };
    loop {
        // Whoever is about to come, comes along.
        tokio::task::yield_now().await;
        let turns = {
            let mut waiting = shared.waiting.lock();
            if waiting.turns.is_empty() {
                (waiting.is_going, going.is_done) = (false, true);
                return;
            }
            std::mem::take(&mut waiting.turns)
        };
        join_all(by_room(turns).into_iter().map(|group| shared.ask(group))).await;
    }
}

/// Turns by the room that they ask, in the order of their coming.
fn by_room(turns: Vec<Turn>) -> Vec<Vec<Turn>> {
    let (mut groups, mut open) = (Vec::<Vec<Turn>>::new(), HashMap::new());
    for turn in turns {
        let at = *open.entry(turn.room.clone()).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        if groups[at].len() + 1 == TURNS_AT_ONCE {
            open.remove(&turn.room);
        }
        groups[at].push(turn);
    }
    groups
}

impl Shared {
    /// Asks for turns of one room and tells each its answer.
    async fn ask(&self, turns: Vec<Turn>) {
        let last = turns.iter().map(|turn| turn.last).max().unwrap_or(Thing::Room);
        let room = turns[0].room.clone();
        let (says, tell): (Vec<_>, Vec<_>) = turns.into_iter().map(|turn| (turn.says, turn.answer)).unzip();
        let rooms = self.keys.rooms(room.bot);
        let (function, args) = match room.epoch {
            None => ("open", says.into_iter().flat_map(|says| says.args).collect()),
            Some(epoch) => {
                let pass = self.witness.pass(room.bot, room.partition, &epoch.to_string());
                ("commit", together(pass, says))
            }
        };
        let answer = self.wire.call(Call { function, keys: rooms.up_to(room.partition, last), args }).await;
        match answer.and_then(|answer| self.answers(&room, answer, tell.len())) {
            Ok(answers) => {
                for (tell, answer) in tell.into_iter().zip(answers) {
                    // Whoever has given up hears nothing.
                    let _ = tell.send(Ok(answer));
                }
            }
            Err(error) => {
                for tell in tell {
                    let _ = tell.send(Err(same(&error)));
                }
            }
        }
    }

    /// The answer for each turn: of an opening a word and a text, of a commit a word.
    fn answers(&self, room: &Room, answer: Vec<String>, turns: usize) -> StoreResult<Vec<Vec<String>>> {
        let mut answer = answer.into_iter();
        let mut width = 2;
        if room.epoch.is_some() {
            let word = answer.next().ok_or_else(|| unreadable("a commit was answered with nothing"))?;
            // A refusal is for all, and says no number.
            let Some(number) = answer.next() else { return Ok(vec![vec![word]; turns]) };
            self.witness.note(room.bot, room.partition, number.parse().map_err(unreadable)?);
            width = 1;
        }
        let answers: Vec<Vec<String>> = (0..turns).map(|_| answer.by_ref().take(width).collect()).collect();
        match answers.last() {
            Some(last) if last.len() == width => Ok(answers),
            _ => Err(unreadable("not all turns were answered")),
        }
    }
}

/// Turns as one call: whose they are and what they take first, because that is asked for all at once.
pub(super) fn together(pass: String, says: Vec<Commits>) -> Vec<String> {
    let (mut names, mut marks, mut rest) = (Vec::with_capacity(says.len()), Vec::new(), Vec::new());
    for turn in says {
        names.push(turn.name);
        marks.extend(turn.marks);
        rest.extend(turn.args);
    }
    let counts = [names.len(), marks.len()].map(|number| number.to_string());
    [pass].into_iter().chain(counts).chain(names).chain(marks).chain(rest).collect()
}

impl Drop for Going {
    fn drop(&mut self) {
        if !self.is_done {
            *self.shared.waiting.lock() = Waiting::default();
        }
    }
}

/// The same error for another turn. Calls fail only by not being answered.
fn same(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(why) if why.is::<NotReached>() => {
            StoreError::Unavailable(NotReached(why.to_string()).into())
        }
        StoreError::Unavailable(why) => StoreError::Unavailable(why.to_string().into()),
        other => StoreError::Unavailable(other.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(partition: usize) -> Turn {
        let says = Commits { name: String::new(), marks: Vec::new(), args: Vec::new() };
        Turn { room: Room { bot: 7, partition, epoch: None }, last: Thing::Room, says, answer: oneshot::channel().0 }
    }

    #[test]
    fn turns_of_a_room_go_together_but_not_too_many() {
        let turns = (0..2 * TURNS_AT_ONCE + 1).flat_map(|_| [turn(3), turn(5)]).collect();
        let groups = by_room(turns);
        let sizes: Vec<_> = groups.iter().map(|group| (group[0].room.partition, group.len())).collect();
        let (full, one) = (TURNS_AT_ONCE, 1);
        assert_eq!(sizes, [(3, full), (5, full), (3, full), (5, full), (3, one), (5, one)]);
        assert!(groups.iter().all(|group| group.iter().all(|turn| turn.room == group[0].room)));
    }
}
