//! Turns that are ready together go to the server together, and so do the notes of what was sent.
//!
//! While rounds are on their way, what comes waits for the next one; then all of it goes at once, one call for each room.
//! So a turn alone waits for nobody, and the more there are, the less each costs. Two go at once: while the server works on
//! one, the other is written or read. A round that fails, fails for all that were in it; what became of each shows by its
//! mark and its version.

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

/// So many turns and notes go in one call: the server does nothing else meanwhile.
const WISHES_AT_ONCE: usize = 64;
/// So many rounds are on their way at once.
const ROUNDS_AT_ONCE: usize = 2;

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
    wishes: Vec<Wish>,
    /// How many runs of rounds there are.
    going: usize,
    /// Whether one of them takes what waits in a moment.
    is_about_to_go: bool,
}

/// The room that is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Room {
    bot: i64,
    partition: usize,
    /// The lease of a commit; an opening has none.
    lease: Option<Arc<str>>,
}

/// A turn to be committed, as the server's function takes it.
#[derive(Debug)]
pub(super) struct Commits {
    pub(super) name: String,
    pub(super) marks: Vec<String>,
    pub(super) args: Vec<String>,
}

/// What somebody wants of a room.
#[derive(Debug)]
struct Wish {
    room: Room,
    last: Thing,
    what: What,
    answer: oneshot::Sender<StoreResult<Vec<String>>>,
}

#[derive(Debug)]
enum What {
    /// To know how a conversation stands: its name and a mark.
    Open(Vec<String>),
    Commit(Commits),
    /// To forget messages that were sent, by their ids.
    Sent(Vec<String>),
}

/// What is asked of one room in one call, and who waits for it.
#[derive(Default)]
struct Asked {
    opens: Vec<String>,
    commits: Vec<Commits>,
    /// Who opens or commits.
    turns: Vec<oneshot::Sender<StoreResult<Vec<String>>>>,
    sent: Vec<String>,
    notes: Vec<oneshot::Sender<StoreResult<Vec<String>>>>,
}

/// A run of rounds. If the last one ends before its time, whoever waits is told, and the next turn starts another.
struct Going {
    shared: Arc<Shared>,
    is_done: bool,
}

impl Rounds {
    pub(super) fn new(wire: &Arc<Wire>, keys: &Arc<Keys>, witness: &Arc<Witness>) -> Self {
        let wire = Arc::clone(wire);
        let keys = Arc::clone(keys);
        let witness = Arc::clone(witness);
        Self(Arc::new(Shared { wire, keys, witness, waiting: Mutex::default() }))
    }

    /// Opens a conversation: a word, and a text with it.
    pub(super) async fn open(&self, bot: i64, partition: usize, args: Vec<String>) -> StoreResult<(String, String)> {
        let room = Room { bot, partition, lease: None };
        let mut answer = self.ask(room, Thing::Marks, What::Open(args)).await?.into_iter();
        Ok((answer.next().unwrap_or_default(), answer.next().unwrap_or_default()))
    }

    /// Commits a turn, and answers the word for it; the keys go along up to `last`.
    pub(super) async fn commit(&self, own: &Own, partition: usize, last: Thing, says: Commits) -> StoreResult<String> {
        self.write(own, partition, last, What::Commit(says)).await
    }

    /// Forgets messages of a room that were sent, and answers the word for it.
    pub(super) async fn sent(&self, own: &Own, partition: usize, ids: Vec<String>) -> StoreResult<String> {
        self.write(own, partition, Thing::Sending, What::Sent(ids)).await
    }

    async fn write(&self, own: &Own, partition: usize, last: Thing, what: What) -> StoreResult<String> {
        let room = Room { bot: own.bot, partition, lease: Some(own.pass()) };
        Ok(self.ask(room, last, what).await?.into_iter().next().unwrap_or_default())
    }

    async fn ask(&self, room: Room, last: Thing, what: What) -> StoreResult<Vec<String>> {
        let (answer, answered) = oneshot::channel();
        let is_wanted = {
            let mut waiting = self.0.waiting.lock();
            waiting.wishes.push(Wish { room, last, what, answer });
            // A run that has not begun yet takes along what comes now.
            let is_wanted = waiting.going < ROUNDS_AT_ONCE && !std::mem::replace(&mut waiting.is_about_to_go, true);
            waiting.going += usize::from(is_wanted);
            is_wanted
        };
        if is_wanted {
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
        let wishes = {
            let mut waiting = shared.waiting.lock();
            waiting.is_about_to_go = false;
            if waiting.wishes.is_empty() {
                waiting.going -= 1;
                going.is_done = true;
                return;
            }
            std::mem::take(&mut waiting.wishes)
        };
        join_all(by_room(wishes).into_iter().map(|group| shared.ask(group))).await;
    }
}

/// Wishes by the room that they ask, in the order of their coming.
fn by_room(wishes: Vec<Wish>) -> Vec<Vec<Wish>> {
    let mut groups = Vec::<Vec<Wish>>::new();
    let mut open = HashMap::new();
    for wish in wishes {
        let at = *open.entry(wish.room.clone()).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        if groups[at].len() + 1 == WISHES_AT_ONCE {
            open.remove(&wish.room);
        }
        groups[at].push(wish);
    }
    groups
}

impl Shared {
    /// Asks for what is wished of one room and tells each its answer.
    async fn ask(&self, wishes: Vec<Wish>) {
        let last = wishes.iter().map(|wish| wish.last).max().unwrap_or(Thing::Room);
        let room = wishes[0].room.clone();
        let mut asked = Asked::default();
        wishes.into_iter().for_each(|wish| asked.add(wish));
        let Asked { opens, commits, turns, sent, notes } = asked;
        if room.lease.is_none() {
            return tell(turns, self.open(&room, last, opens).await);
        }
        let is_combined = !turns.is_empty() && !notes.is_empty();
        let (answer, noted) = if turns.is_empty() {
            (Ok(Vec::new()), self.forget(&room, sent, notes.len()).await)
        } else {
            let also = sent.clone();
            match self.commit(&room, last, commits, also, turns.len()).await {
                // A server that is short of memory refuses turns, and takes notes, for they free it.
                Err(error) if is_combined => (Err(error), self.forget(&room, sent, notes.len()).await),
                Err(error) => (Err(error), Ok(Vec::new())),
                Ok((word, words)) => (Ok(words), Ok(vec![vec![word]; notes.len()])),
            }
        };
        tell(turns, answer);
        tell(notes, noted);
    }

    /// A word and a text for each.
    async fn open(&self, room: &Room, last: Thing, args: Vec<String>) -> StoreResult<Vec<Vec<String>>> {
        let answer = self.call(room, last, "open", args).await?;
        Ok(answer.chunks(2).map(<[String]>::to_vec).collect())
    }

    /// The word for all, and one for each turn.
    async fn commit(
        &self,
        room: &Room,
        last: Thing,
        says: Vec<Commits>,
        sent: Vec<String>,
        turns: usize,
    ) -> StoreResult<(String, Vec<Vec<String>>)> {
        let args = together(self.pass(room), says, sent);
        let (word, words) = self.read(room, self.call(room, last, "commit", args).await?)?;
        // A refusal is for all.
        if word != "done" {
            return Ok((word.clone(), vec![vec![word]; turns]));
        }
        Ok((word, words.into_iter().map(|word| vec![word]).collect()))
    }

    /// Forgets what was sent; the same word for each note.
    async fn forget(&self, room: &Room, sent: Vec<String>, notes: usize) -> StoreResult<Vec<Vec<String>>> {
        let args = [self.pass(room)].into_iter().chain(sent).collect();
        let (word, _) = self.read(room, self.call(room, Thing::Sending, "sent", args).await?)?;
        Ok(vec![vec![word]; notes])
    }

    async fn call(
        &self,
        room: &Room,
        last: Thing,
        function: &'static str,
        args: Vec<String>,
    ) -> StoreResult<Vec<String>> {
        let rooms = self.keys.rooms(room.bot);
        self.wire.call(Call { function, keys: rooms.up_to(room.partition, last), args }).await
    }

    fn pass(&self, room: &Room) -> String {
        self.witness.pass(room.bot, room.partition, room.lease.as_deref().unwrap_or_default())
    }

    /// The word of a write's answer and what stands behind it; how far the room has come is noted.
    fn read(&self, room: &Room, answer: Vec<String>) -> StoreResult<(String, Vec<String>)> {
        let mut answer = answer.into_iter();
        let word = answer.next().ok_or_else(|| unreadable("a write was answered with nothing"))?;
        // A refusal says no number.
        if let Some(number) = answer.next() {
            self.witness.note(room.bot, room.partition, number.parse().map_err(unreadable)?);
        }
        Ok((word, answer.collect()))
    }
}

impl Asked {
    fn add(&mut self, wish: Wish) {
        match wish.what {
            What::Open(args) => self.opens.extend(args),
            What::Commit(says) => self.commits.push(says),
            What::Sent(ids) => {
                self.sent.extend(ids);
                return self.notes.push(wish.answer);
            }
        }
        self.turns.push(wish.answer);
    }
}

/// Tells each its answer; if there are not enough of them, nobody knows whose is missing.
fn tell(who: Vec<oneshot::Sender<StoreResult<Vec<String>>>>, answers: StoreResult<Vec<Vec<String>>>) {
    let enough = |answers: Vec<Vec<String>>| match answers.len() == who.len() {
        true => Ok(answers),
        false => Err(unreadable("not all turns were answered")),
    };
    match answers.and_then(enough) {
        Ok(answers) => {
            for (tell, answer) in who.into_iter().zip(answers) {
                // Whoever has given up hears nothing.
                let _ = tell.send(Ok(answer));
            }
        }
        Err(error) => {
            for tell in who {
                let _ = tell.send(Err(same(&error)));
            }
        }
    }
}

/// Turns as one call: whose they are and what they take first, because that is asked for all at once; at the end, what was
/// sent.
pub(super) fn together(pass: String, says: Vec<Commits>, sent: Vec<String>) -> Vec<String> {
    let mut names = Vec::with_capacity(says.len());
    let mut marks = Vec::new();
    let mut rest = Vec::new();
    for turn in says {
        names.push(turn.name);
        marks.extend(turn.marks);
        rest.extend(turn.args);
    }
    let counts = [names.len(), marks.len()].map(|number| number.to_string());
    [pass].into_iter().chain(counts).chain(names).chain(marks).chain(rest).chain(sent).collect()
}

impl Drop for Going {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let mut waiting = self.shared.waiting.lock();
        waiting.going -= 1;
        waiting.is_about_to_go = false;
        // Nobody else would take them.
        if waiting.going == 0 {
            waiting.wishes.clear();
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

    fn wish(partition: usize) -> Wish {
        let room = Room { bot: 7, partition, lease: None };
        Wish { room, last: Thing::Room, what: What::Open(Vec::new()), answer: oneshot::channel().0 }
    }

    #[test]
    fn what_is_wished_of_a_room_goes_together_but_not_too_much() {
        let wishes = (0..2 * WISHES_AT_ONCE + 1).flat_map(|_| [wish(3), wish(5)]).collect();
        let groups = by_room(wishes);
        let sizes: Vec<_> = groups.iter().map(|group| (group[0].room.partition, group.len())).collect();
        let full = WISHES_AT_ONCE;
        let one = 1;
        assert_eq!(sizes, [(3, full), (5, full), (3, full), (5, full), (3, one), (5, one)]);
        assert!(groups.iter().all(|group| group.iter().all(|wish| wish.room == group[0].room)));
    }
}
