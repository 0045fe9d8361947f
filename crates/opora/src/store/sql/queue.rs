//! The queue before a writer.
//!
//! Operations wait here. The task takes all that wait and hands them to a store as one group, in the order of their
//! arrival: a group pays for one flush to the disk. A store commits before it answers, so nobody is told of anything
//! that a crash could take back.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::time::Duration;

use tokio::sync::mpsc;

use super::failure::GroupFailed;
use super::operation::{Alone, Operation};
use super::request::{Answered, Group, Reply, Request, refuse};
use crate::store::{Epoch, StoreError};

/// Operations in a group.
const GROUP_LIMIT: usize = 512;
/// About how much a group writes; a single larger operation is still one group.
const GROUP_LIMIT_BYTES: usize = 8 << 20;
/// How many may wait before callers wait to ask.
const QUEUE_LIMIT: usize = 4096;
/// How long news of sends wait for company; an end of the process cannot take them.
const LINGER: Duration = Duration::from_millis(50);

/// A part of a group.
pub(in crate::store) enum Step {
    Together(Group),
    Alone(Box<Alone>, Reply),
}

/// Carries groups out, on a connection of its own.
pub(in crate::store) trait Carries: Send + 'static {
    /// Carries a group out and answers every operation of it, but for those that it leaves to the next group.
    fn carry_out(&mut self, steps: VecDeque<Step>) -> impl Future<Output = VecDeque<Step>> + Send;
    /// Lets go of the connection.
    fn close(self) -> impl Future<Output = Result<(), GroupFailed>> + Send;
}

/// Starts the task; it ends when it is told to close, or when nobody can ask it any more.
pub(in crate::store) fn start(carries: impl Carries) -> mpsc::Sender<Request> {
    let (queue, requests) = mpsc::channel(QUEUE_LIMIT);
    tokio::spawn(run(carries, requests));
    queue
}

async fn run<C: Carries>(mut carries: C, mut requests: mpsc::Receiver<Request>) {
    let mut arrived = Vec::new();
    let mut closing = Vec::new();
    loop {
        if arrived.is_empty() && requests.recv_many(&mut arrived, GROUP_LIMIT).await == 0 {
            break;
        }
        if arrived.iter().all(Request::may_linger) {
            linger(&mut requests, &mut arrived).await;
        }
        let size = group_size(&arrived);
        let mut steps = VecDeque::new();
        for request in arrived.drain(..size) {
            match request {
                Request::Grouped(operation, reply) => add(&mut steps, operation, reply),
                Request::Alone(alone, reply) => steps.push_back(Step::Alone(Box::new(alone), reply)),
                Request::Close(reply) => {
                    // What was asked before is still done; what is asked from now on is not.
                    requests.close();
                    closing.push(reply);
                }
            }
        }
        if !steps.is_empty() {
            let left = carries.carry_out(steps).await;
            if !left.is_empty() {
                put_back(left, &mut requests, &mut arrived);
            }
        }
    }
    let closed = carries.close().await;
    for reply in closing {
        // Nobody may be waiting any more.
        let _ = reply.send(closed.clone().map(Answered::from).map_err(StoreError::from));
    }
}

impl Step {
    /// Answers that the group failed before it was decided.
    pub(in crate::store) fn refuse(self, failed: &GroupFailed) {
        match self {
            Self::Together(group) => group.refuse(failed),
            Self::Alone(_, reply) => refuse(reply, failed),
        }
    }

    fn into_requests(self) -> Vec<Request> {
        match self {
            Self::Together(group) => group.into_requests().collect(),
            Self::Alone(alone, reply) => vec![Request::Alone(*alone, reply)],
        }
    }
}

/// What a group has left goes before what came later, and renewals before all of it: a lease must not run out because the
/// application writes.
fn put_back(left: VecDeque<Step>, requests: &mut mpsc::Receiver<Request>, arrived: &mut Vec<Request>) {
    let mut waiting: Vec<Request> = left.into_iter().flat_map(Step::into_requests).collect();
    waiting.append(arrived);
    while waiting.len() < QUEUE_LIMIT
        && let Ok(request) = requests.try_recv()
    {
        waiting.push(request);
    }
    waiting.sort_by_key(|request| !request.is_renewal());
    *arrived = waiting;
}

/// Waits a moment for something that has to be durable now anyway.
async fn linger(requests: &mut mpsc::Receiver<Request>, arrived: &mut Vec<Request>) {
    let company = async {
        while arrived.len() < GROUP_LIMIT
            && arrived.iter().all(Request::may_linger)
            && requests.recv_many(arrived, GROUP_LIMIT).await > 0
        {}
    };
    // Without company they go on their own.
    let _ = tokio::time::timeout(LINGER, company).await;
}

fn group_size(arrived: &[Request]) -> usize {
    let mut bytes = 0;
    let fits = |request: &&Request| {
        bytes += request.bytes();
        bytes <= GROUP_LIMIT_BYTES
    };
    arrived.iter().take(GROUP_LIMIT).take_while(fits).count().max(1)
}

fn add(steps: &mut VecDeque<Step>, operation: Operation, reply: Reply) {
    if let Some(Step::Together(group)) = steps.back_mut() {
        return group.push(operation, reply);
    }
    let mut group = Group::default();
    group.push(operation, reply);
    steps.push_back(Step::Together(group));
}

/// How many numbers these operations may need, by epoch.
pub(in crate::store) fn wanted_numbers(operations: &[Operation]) -> HashMap<Epoch, i64> {
    let mut wanted = HashMap::new();
    for (epoch, count) in operations.iter().filter_map(Operation::numbers) {
        *wanted.entry(epoch).or_default() += i64::try_from(count).unwrap_or(i64::MAX);
    }
    wanted
}
