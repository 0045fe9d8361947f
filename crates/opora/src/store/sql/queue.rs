//! The queue of a writer.
//!
//! The task takes all waiting operations and runs them as one group, in order of arrival: a group costs one flush to
//! disk. A response is sent only after the commit.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::time::Duration;

use tokio::sync::mpsc;

use super::failure::GroupError;
use super::operation::{ExclusiveOperation, Operation};
use super::request::{Group, ReplySender, Request, Response, refuse};
use crate::store::{Epoch, StoreError};

const GROUP_LIMIT: usize = 512;
/// About how much a group writes; a single larger operation is still one group.
const GROUP_LIMIT_BYTES: usize = 8 << 20;
/// Requests in the queue before callers have to wait.
const QUEUE_LIMIT: usize = 4096;
/// How long settled sends wait for other operations. They are in the sent log, so a killed process cannot lose them.
const GROUP_DELAY: Duration = Duration::from_millis(50);

/// What a writer runs in order: a group, or one exclusive operation.
pub(crate) enum SqlStep {
    Group(Group),
    Exclusive(Box<ExclusiveOperation>, ReplySender),
}

/// Runs groups on a connection of its own.
pub(crate) trait GroupExecutor: Send + 'static {
    /// Runs steps and sends all responses. Returns the steps that are left for the next group.
    fn run_steps(&mut self, steps: VecDeque<SqlStep>) -> impl Future<Output = VecDeque<SqlStep>> + Send;
    fn close(self) -> impl Future<Output = Result<(), GroupError>> + Send;
}

/// Starts the task. It ends when it is closed or when all senders are gone.
pub(crate) fn start(executor: impl GroupExecutor) -> mpsc::Sender<Request> {
    let (queue, requests) = mpsc::channel(QUEUE_LIMIT);
    tokio::spawn(run(executor, requests));
    queue
}

async fn run<C: GroupExecutor>(mut executor: C, mut requests: mpsc::Receiver<Request>) {
    let mut arrived = Vec::new();
    let mut closing = Vec::new();
    loop {
        if arrived.is_empty() && requests.recv_many(&mut arrived, GROUP_LIMIT).await == 0 {
            break;
        }
        if arrived.iter().all(Request::can_wait) {
            wait_for_more(&mut requests, &mut arrived).await;
        }
        let size = group_size(&arrived);
        let mut steps = VecDeque::new();
        for request in arrived.drain(..size) {
            match request {
                Request::Grouped(operation, reply) => add(&mut steps, operation, reply),
                Request::Exclusive(exclusive, reply) => steps.push_back(SqlStep::Exclusive(Box::new(exclusive), reply)),
                Request::Close(reply) => {
                    // Earlier requests still run; later ones are refused.
                    requests.close();
                    closing.push(reply);
                }
            }
        }
        if !steps.is_empty() {
            let unfinished = executor.run_steps(steps).await;
            if !unfinished.is_empty() {
                put_back(unfinished, &mut requests, &mut arrived);
            }
        }
    }
    let closed = executor.close().await;
    for reply in closing {
        // The caller may be gone.
        let _ = reply.send(closed.clone().map(Response::from).map_err(StoreError::from));
    }
}

impl SqlStep {
    /// Tells every operation that the group failed.
    pub(crate) fn refuse(self, failed: &GroupError) {
        match self {
            Self::Group(group) => group.refuse(failed),
            Self::Exclusive(_, reply) => refuse(reply, failed),
        }
    }

    fn into_requests(self) -> Vec<Request> {
        match self {
            Self::Group(group) => group.into_requests().collect(),
            Self::Exclusive(exclusive, reply) => vec![Request::Exclusive(*exclusive, reply)],
        }
    }
}

/// Puts left-over steps before later requests, and renewals before all of them: a lease must not expire because the
/// application writes.
fn put_back(left: VecDeque<SqlStep>, requests: &mut mpsc::Receiver<Request>, arrived: &mut Vec<Request>) {
    let mut waiting: Vec<Request> = left.into_iter().flat_map(SqlStep::into_requests).collect();
    waiting.append(arrived);
    while waiting.len() < QUEUE_LIMIT
        && let Ok(request) = requests.try_recv()
    {
        waiting.push(request);
    }
    waiting.sort_by_key(|request| !request.is_renewal());
    *arrived = waiting;
}

/// Waits a moment for an operation that needs a flush anyway.
async fn wait_for_more(requests: &mut mpsc::Receiver<Request>, arrived: &mut Vec<Request>) {
    let more = async {
        while arrived.len() < GROUP_LIMIT
            && arrived.iter().all(Request::can_wait)
            && requests.recv_many(arrived, GROUP_LIMIT).await > 0
        {}
    };
    // After the delay they are written alone.
    let _ = tokio::time::timeout(GROUP_DELAY, more).await;
}

fn group_size(arrived: &[Request]) -> usize {
    let mut bytes = 0;
    let fits = |request: &&Request| {
        bytes += request.bytes();
        bytes <= GROUP_LIMIT_BYTES
    };
    arrived.iter().take(GROUP_LIMIT).take_while(fits).count().max(1)
}

fn add(steps: &mut VecDeque<SqlStep>, operation: Operation, reply: ReplySender) {
    if let Some(SqlStep::Group(group)) = steps.back_mut() {
        return group.push(operation, reply);
    }
    let mut group = Group::default();
    group.push(operation, reply);
    steps.push_back(SqlStep::Group(group));
}

/// How many ids these operations may need, by epoch.
pub(crate) fn wanted_numbers(operations: &[Operation]) -> HashMap<Epoch, i64> {
    let mut wanted = HashMap::new();
    for (epoch, count) in operations.iter().filter_map(Operation::numbers) {
        *wanted.entry(epoch).or_default() += i64::try_from(count).unwrap_or(i64::MAX);
    }
    wanted
}
