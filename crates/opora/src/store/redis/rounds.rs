//! Rounds: turns that are ready together go to the server in one call per partition, together with notes of sent
//! messages.
//!
//! While two rounds are under way, requests wait for the next one. So a single turn does not wait, and the more turns
//! there are, the less each one costs. Two rounds, because one can be written or read while the server works on the
//! other. If a round fails, it fails for all its turns; mark and version then show what became of each.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::connection::NotReached;
use super::held_leases::HeldLease;
use super::keys::KeyKind;
use super::rows::unreadable;
use super::writes::{PartitionWriter, WriteAnswer};
use crate::store::{StoreError, StoreResult};

/// The most requests in one call: the server does nothing else meanwhile.
const MAX_REQUESTS_PER_CALL: usize = 64;
const MAX_CONCURRENT_ROUNDS: usize = 2;

type AnswerSender = oneshot::Sender<StoreResult<Vec<String>>>;

/// Collects requests for the next round.
#[derive(Debug)]
pub(super) struct Rounds(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    writer: PartitionWriter,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    requests: Vec<Request>,
    /// How many tasks are sending rounds.
    runs: usize,
    /// Whether a task is about to take the queued requests.
    is_run_starting: bool,
}

/// Requests with the same target share a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Target {
    bot: i64,
    partition: usize,
    /// The fencing token of a write; an opening has none.
    fencing_token: Option<Arc<str>>,
}

/// A turn as arguments of the server's function.
#[derive(Debug)]
pub(super) struct EncodedTurn {
    pub(super) name: String,
    pub(super) marks: Vec<String>,
    pub(super) args: Vec<String>,
}

#[derive(Debug)]
struct Request {
    target: Target,
    last: KeyKind,
    operation: Operation,
    answer: AnswerSender,
}

#[derive(Debug)]
enum Operation {
    /// Opens a conversation: its name and a mark.
    Open(Vec<String>),
    Commit(EncodedTurn),
    /// Removes sent messages, by id.
    Sent(Vec<String>),
}

/// The requests of one call, and the receivers of their answers.
#[derive(Default)]
struct Batch {
    opens: Vec<String>,
    commits: Vec<EncodedTurn>,
    /// Receivers of `opens` or `commits`.
    turns: Vec<AnswerSender>,
    sent: Vec<String>,
    /// Receivers of `sent`.
    notes: Vec<AnswerSender>,
}

/// Ends a run of rounds also if its task is cancelled: waiting requests fail, and the next request starts another run.
struct RunGuard {
    shared: Arc<Shared>,
    is_done: bool,
}

impl Rounds {
    pub(super) fn new(writer: PartitionWriter) -> Self {
        Self(Arc::new(Shared { writer, queue: Mutex::default() }))
    }

    /// Opens a conversation. Returns a word and a text.
    pub(super) async fn open(&self, bot: i64, partition: usize, args: Vec<String>) -> StoreResult<(String, String)> {
        let target = Target { bot, partition, fencing_token: None };
        let mut answer = self.request(target, KeyKind::Marks, Operation::Open(args)).await?.into_iter();
        Ok((answer.next().unwrap_or_default(), answer.next().unwrap_or_default()))
    }

    /// Commits a turn with the keys up to `last`. Returns the word for it.
    pub(super) async fn commit(
        &self,
        lease: &HeldLease,
        partition: usize,
        last: KeyKind,
        turn: EncodedTurn,
    ) -> StoreResult<String> {
        self.write(lease, partition, last, Operation::Commit(turn)).await
    }

    /// Removes sent messages of a partition. Returns the word for it.
    pub(super) async fn sent(&self, lease: &HeldLease, partition: usize, ids: Vec<String>) -> StoreResult<String> {
        self.write(lease, partition, KeyKind::Sending, Operation::Sent(ids)).await
    }

    async fn write(
        &self,
        lease: &HeldLease,
        partition: usize,
        last: KeyKind,
        operation: Operation,
    ) -> StoreResult<String> {
        let fencing_token = Some(Arc::clone(&lease.fencing_token));
        let target = Target { bot: lease.bot, partition, fencing_token };
        Ok(self.request(target, last, operation).await?.into_iter().next().unwrap_or_default())
    }

    async fn request(&self, target: Target, last: KeyKind, operation: Operation) -> StoreResult<Vec<String>> {
        let (answer, answered) = oneshot::channel();
        let starts_run = {
            let mut queue = self.0.queue.lock();
            queue.requests.push(Request { target, last, operation, answer });
            // A run that is about to start takes this request along.
            let starts_run = queue.runs < MAX_CONCURRENT_ROUNDS && !std::mem::replace(&mut queue.is_run_starting, true);
            queue.runs += usize::from(starts_run);
            starts_run
        };
        if starts_run {
            tokio::spawn(run_rounds(Arc::clone(&self.0)));
        }
        answered.await.unwrap_or_else(|_| Err(StoreError::Unavailable("a round of turns was broken off".into())))
    }
}

/// Sends rounds until no request waits.
async fn run_rounds(shared: Arc<Shared>) {
    let mut guard = RunGuard { shared: Arc::clone(&shared), is_done: false };
    loop {
        // Requests that other tasks are about to add join this round.
        tokio::task::yield_now().await;
        let requests = {
            let mut queue = shared.queue.lock();
            queue.is_run_starting = false;
            if queue.requests.is_empty() {
                queue.runs -= 1;
                guard.is_done = true;
                return;
            }
            std::mem::take(&mut queue.requests)
        };
        join_all(group_by_target(requests).into_iter().map(|group| shared.send(group))).await;
    }
}

/// Groups requests by target, in the order of arrival, with a limit per group.
fn group_by_target(requests: Vec<Request>) -> Vec<Vec<Request>> {
    let mut groups = Vec::<Vec<Request>>::new();
    let mut open = HashMap::new();
    for request in requests {
        let at = *open.entry(request.target.clone()).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        if groups[at].len() + 1 == MAX_REQUESTS_PER_CALL {
            open.remove(&request.target);
        }
        groups[at].push(request);
    }
    groups
}

impl Shared {
    /// Sends the requests of one target and distributes the answers.
    async fn send(&self, requests: Vec<Request>) {
        let last = requests.iter().map(|request| request.last).max().unwrap_or(KeyKind::Header);
        let target = requests[0].target.clone();
        let mut batch = Batch::default();
        requests.into_iter().for_each(|request| batch.add(request));
        let Batch { opens, commits, turns, sent, notes } = batch;
        if target.fencing_token.is_none() {
            return send_answers(turns, self.open(&target, last, opens).await);
        }
        let is_combined = !turns.is_empty() && !notes.is_empty();
        let (answer, noted) = if turns.is_empty() {
            (Ok(Vec::new()), self.forget(&target, sent, notes.len()).await)
        } else {
            let also = sent.clone();
            match self.commit(&target, last, commits, also).await {
                // A server without memory refuses turns and accepts notes of sent messages, because they free memory.
                Err(error) if is_combined => (Err(error), self.forget(&target, sent, notes.len()).await),
                Err(error) => (Err(error), Ok(Vec::new())),
                Ok((word, words)) => (Ok(words), Ok(vec![vec![word]; notes.len()])),
            }
        };
        send_answers(turns, answer);
        send_answers(notes, noted);
    }

    /// Opens conversations. Returns a word and a text for each.
    async fn open(&self, target: &Target, last: KeyKind, args: Vec<String>) -> StoreResult<Vec<Vec<String>>> {
        let answer = self.writer.call("open", (target.bot, target.partition), last, args).await?;
        Ok(answer.chunks(2).map(<[String]>::to_vec).collect())
    }

    /// Commits turns. Returns the word for the call, and one for each turn.
    async fn commit(
        &self,
        target: &Target,
        last: KeyKind,
        turns: Vec<EncodedTurn>,
        sent: Vec<String>,
    ) -> StoreResult<(String, Vec<Vec<String>>)> {
        let count = turns.len();
        let WriteAnswer { word, rest } = self.write(target, last, "commit", commit_args(turns, sent)).await?;
        // A refusal holds for all turns.
        if word != "done" {
            return Ok((word.clone(), vec![vec![word]; count]));
        }
        Ok((word, rest.into_iter().map(|word| vec![word]).collect()))
    }

    /// Removes sent messages. Returns the same word for each note.
    async fn forget(&self, target: &Target, sent: Vec<String>, notes: usize) -> StoreResult<Vec<Vec<String>>> {
        let word = self.write(target, KeyKind::Sending, "sent", sent).await?.word;
        Ok(vec![vec![word]; notes])
    }

    async fn write(
        &self,
        target: &Target,
        last: KeyKind,
        function: &'static str,
        args: Vec<String>,
    ) -> StoreResult<WriteAnswer> {
        let token = target.fencing_token.as_deref();
        self.writer.write(function, token, (target.bot, target.partition), last, args).await
    }
}

impl Batch {
    fn add(&mut self, request: Request) {
        match request.operation {
            Operation::Open(args) => self.opens.extend(args),
            Operation::Commit(turn) => self.commits.push(turn),
            Operation::Sent(ids) => {
                self.sent.extend(ids);
                return self.notes.push(request.answer);
            }
        }
        self.turns.push(request.answer);
    }
}

/// Sends each receiver its answer. If the numbers differ, all get an error.
fn send_answers(receivers: Vec<AnswerSender>, answers: StoreResult<Vec<Vec<String>>>) {
    let complete = |answers: Vec<Vec<String>>| match answers.len() == receivers.len() {
        true => Ok(answers),
        false => Err(unreadable("not all turns were answered")),
    };
    match answers.and_then(complete) {
        Ok(answers) => {
            for (receiver, answer) in receivers.into_iter().zip(answers) {
                // The receiver may have given up.
                let _ = receiver.send(Ok(answer));
            }
        }
        Err(error) => {
            for receiver in receivers {
                let _ = receiver.send(Err(copy_error(&error)));
            }
        }
    }
}

/// The arguments of a commit behind its precondition: names and marks of all turns first, because the server reads them
/// at once; sent messages last.
pub(super) fn commit_args(turns: Vec<EncodedTurn>, sent: Vec<String>) -> Vec<String> {
    let mut names = Vec::with_capacity(turns.len());
    let mut marks = Vec::new();
    let mut rest = Vec::new();
    for turn in turns {
        names.push(turn.name);
        marks.extend(turn.marks);
        rest.extend(turn.args);
    }
    let counts = [names.len(), marks.len()].map(|number| number.to_string());
    counts.into_iter().chain(names).chain(marks).chain(rest).chain(sent).collect()
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let mut queue = self.shared.queue.lock();
        queue.runs -= 1;
        queue.is_run_starting = false;
        // No other run would take them.
        if queue.runs == 0 {
            queue.requests.clear();
        }
    }
}

/// The same error for another turn. Calls fail with `Unavailable` only.
fn copy_error(error: &StoreError) -> StoreError {
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

    fn request(partition: usize) -> Request {
        let target = Target { bot: 7, partition, fencing_token: None };
        Request { target, last: KeyKind::Header, operation: Operation::Open(Vec::new()), answer: oneshot::channel().0 }
    }

    #[test]
    fn requests_of_a_target_are_grouped_up_to_a_limit() {
        let requests = (0..2 * MAX_REQUESTS_PER_CALL + 1).flat_map(|_| [request(3), request(5)]).collect();
        let groups = group_by_target(requests);
        let sizes: Vec<_> = groups.iter().map(|group| (group[0].target.partition, group.len())).collect();
        let full = MAX_REQUESTS_PER_CALL;
        let one = 1;
        assert_eq!(sizes, [(3, full), (5, full), (3, full), (5, full), (3, one), (5, one)]);
        assert!(groups.iter().all(|group| group.iter().all(|request| request.target == group[0].target)));
    }
}
