//! A write connection.
//!
//! Nearly every group finds what it expects: the lease is held, the versions match, the updates are new. So a group is
//! first decided optimistically and written by one statement that checks the assumptions, in one round trip. If an
//! assumption is wrong, the statement fails as a whole, and the group takes three round trips: begin, lock and read;
//! write; commit. A group with application writes always does that.
//!
//! If a group fails, it is rolled back and every operation gets the error. A group that failed before anything was
//! decided, by a lost connection or a deadlock, is tried once more. If the answer to a commit is lost, the callers find
//! out by marks and versions whether it happened.
//!
//! Two writers work at once: one for turns, and the control connection.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, PgConnection};

use super::bulk::{self, OptimisticWrite};
use super::facts::{FactsQuery, PREPARE};
use super::server::{INDEX_ONLY_SETTINGS, Server, is_alive, with_answer_timeout};
use super::session::Session;
use crate::clock::Stopwatch;
use crate::failpoints;
use crate::store::sql::decide::{decide_group, decide_plain};
use crate::store::sql::exclusive;
use crate::store::sql::facts::{Facts, Leases};
use crate::store::sql::failure::GroupError;
use crate::store::sql::numbers::Numbers;
use crate::store::sql::operation::{ExclusiveOperation, Import, Operation};
use crate::store::sql::queue::{GroupExecutor, SqlStep, wanted_numbers};
use crate::store::sql::request::{Group, OperationResult, PendingReply, ReplySender, refuse};
use crate::store::{Database, Epoch};

/// A connection that was idle this long is pinged before an optimistic group, because a lost answer costs more.
const IDLE_BEFORE_PING: Duration = Duration::from_millis(20);

/// A connection that was idle this long is pinged before a group that can be retried.
const IDLE_BEFORE_PING_RETRYABLE: Duration = Duration::from_secs(2);

pub(super) struct Writer {
    server: Server,
    /// The rows of `opora_state_counts` that it counts in.
    slot: i64,
    connection: Option<PgConnection>,
    /// Time since the connection was last used.
    last_used: Stopwatch,
    leases: Arc<Leases>,
    numbers: Numbers,
}

/// Whether a failure came before the commit, so that nothing was written.
struct BeforeCommit(bool);

/// What a group needs before its operations are decided.
struct GroupNeeds {
    facts_query: FactsQuery,
    numbers: HashMap<Epoch, i64>,
    has_writes: bool,
}

impl GroupNeeds {
    fn new(operations: &[Operation]) -> Result<Self, GroupError> {
        Ok(Self {
            facts_query: FactsQuery::new(operations)?,
            numbers: wanted_numbers(operations),
            has_writes: operations.iter().any(Operation::has_writes),
        })
    }
}

impl Writer {
    /// It connects on first use.
    pub(super) fn new(server: Server, slot: i64) -> Self {
        Self {
            server,
            slot,
            connection: None,
            last_used: Stopwatch::start(),
            leases: Arc::default(),
            numbers: Numbers::default(),
        }
    }

    /// A connection with the library's prepared statements.
    async fn connected(&mut self) -> Result<PgConnection, GroupError> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let mut connection = self.server.connect_with(INDEX_ONLY_SETTINGS).await.map_err(GroupError::because)?;
        with_answer_timeout(sqlx::raw_sql(PREPARE.as_str()).execute(&mut connection)).await?;
        Ok(connection)
    }

    /// Runs a group. The connection is kept only after success: otherwise it may be inside a transaction.
    async fn write_group(&mut self, group: &mut Group, pending: &mut Vec<PendingReply>) -> Result<(), GroupError> {
        if self.may_assume(group.operations()) {
            let is_idle = self.last_used.elapsed() >= IDLE_BEFORE_PING;
            let mut connection = if is_idle { self.ready().await? } else { self.connected().await? };
            let written = self.try_optimistic(&mut connection, group.operations()).await?;
            self.keep(connection);
            if let Some(results) = written {
                pending.extend(group.take_replies(results));
                return Ok(());
            }
        }
        self.write_stepwise(group, pending).await
    }

    /// Whether a group may be decided optimistically: its leases were held when last read, and one statement can write
    /// it.
    fn may_assume(&self, operations: &[Operation]) -> bool {
        operations.iter().all(|operation| {
            let is_held = operation.epoch().is_some_and(|epoch| self.leases.are_held_under(epoch));
            is_held && !operation.has_writes() && !operation.takes_timer()
        }) && !failpoints::is_armed(failpoints::STORE_IN_COMMIT)
    }

    /// Decides a group optimistically and writes it by a statement that checks the assumptions. Returns none if one is
    /// wrong; then nothing was written.
    async fn try_optimistic(
        &mut self,
        connection: &mut PgConnection,
        operations: &mut [Operation],
    ) -> Result<Option<Vec<OperationResult>>, GroupError> {
        let wanted = wanted_numbers(operations);
        if self.reserve(wanted, connection).await.is_err() {
            return Ok(None);
        }
        let epochs: BTreeSet<Epoch> = operations.iter().filter_map(Operation::epoch).collect();
        let facts = Facts::assumed(Arc::clone(&self.leases), operations);
        let (bulk, mut results) = decide_plain(facts, &mut self.numbers, operations)?;
        match with_answer_timeout(bulk::write_optimistically(bulk, &epochs, self.slot, connection)).await? {
            OptimisticWrite::Written(places) => {
                results.iter_mut().flatten().for_each(|response| response.set_positions(&places));
                Ok(Some(results))
            }
            OptimisticWrite::NotAsExpected => Ok(None),
        }
    }

    async fn write_stepwise(&mut self, group: &mut Group, pending: &mut Vec<PendingReply>) -> Result<(), GroupError> {
        let mut is_retry = false;
        loop {
            // A closed connection fails at once and is retried; a half-open one is found only by the ping.
            let is_idle = self.last_used.elapsed() >= IDLE_BEFORE_PING_RETRYABLE;
            let mut connection = if is_idle { self.ready().await? } else { self.connected().await? };
            let needs = GroupNeeds::new(group.operations())?;
            match self.begin(&mut connection, needs).await {
                Ok((session, facts)) => {
                    self.leases = facts.leases();
                    let results = finish(session, facts, &mut self.numbers, group).await?;
                    pending.extend(group.take_replies(results));
                }
                Err(failed) if failed.is_transient() && !is_retry => {
                    is_retry = true;
                    continue;
                }
                Err(failed) => return Err(failed),
            }
            self.keep(connection);
            return Ok(());
        }
    }

    /// Reserves ids, begins a transaction and reads the facts.
    async fn begin<'c>(
        &mut self,
        connection: &'c mut PgConnection,
        GroupNeeds { facts_query, numbers: wanted, has_writes }: GroupNeeds,
    ) -> Result<(Session<'c>, Facts), GroupError> {
        self.reserve(wanted, connection).await?;
        if has_writes {
            let mut session = Session::begin(connection, facts_query.begin(), self.slot).await?;
            let facts = with_answer_timeout(facts_query.read_facts(session.connection())).await?;
            return Ok((session, facts));
        }
        let facts = with_answer_timeout(facts_query.begin_and_read(connection)).await?;
        Ok((Session::begun(connection, self.slot), facts))
    }

    /// Reserves ids for each epoch, in a transaction of its own.
    async fn reserve(&mut self, wanted: HashMap<Epoch, i64>, connection: &mut PgConnection) -> Result<(), GroupError> {
        for (epoch, wanted) in wanted {
            let reserved = self.numbers.reserve(epoch, wanted, Database::postgres_commit(connection));
            with_answer_timeout(reserved).await?;
        }
        Ok(())
    }

    fn keep(&mut self, connection: PgConnection) {
        self.connection = Some(connection);
        self.last_used = Stopwatch::start();
    }

    async fn exclusive(
        &mut self,
        exclusive: ExclusiveOperation,
        reply: ReplySender,
        pending: &mut Vec<PendingReply>,
    ) -> Result<(), GroupError> {
        let mut connection = match self.ready().await {
            Ok(connection) => connection,
            Err(failed) => {
                refuse(reply, &failed);
                return Err(failed);
            }
        };
        let mut session = match Session::begin(&mut connection, "BEGIN".to_owned(), self.slot).await {
            Ok(session) => session,
            Err(failed) => {
                refuse(reply, &failed);
                return Err(failed);
            }
        };
        pending.push(exclusive::run_and_reply(exclusive, reply, &mut session).await?);
        session.commit().await?;
        self.keep(connection);
        Ok(())
    }

    /// Imports conversations in one transaction, each with its own result.
    async fn import(
        &mut self,
        (page, replies): (Vec<Import>, Vec<ReplySender>),
        pending: &mut Vec<PendingReply>,
    ) -> Result<(), GroupError> {
        let mut done = self.try_import(&page).await;
        if matches!(done, Err((BeforeCommit(true), _))) {
            // One of these conversations may have been created meanwhile: the second attempt finds and locks it.
            done = self.try_import(&page).await;
        }
        let (done, failed) = match done {
            Ok(done) => (done, None),
            Err((_, failed)) => (vec![false; page.len()], Some(failed)),
        };
        pending.extend(replies.into_iter().zip(done).map(|(reply, done)| PendingReply::new(reply, Ok(done.into()))));
        failed.map_or(Ok(()), Err)
    }

    async fn try_import(&mut self, page: &[Import]) -> Result<Vec<bool>, (BeforeCommit, GroupError)> {
        let before = |failed| (BeforeCommit(true), failed);
        let mut connection = self.ready().await.map_err(before)?;
        let begun = Session::begin(&mut connection, "BEGIN".to_owned(), self.slot).await;
        let mut session = begun.map_err(before)?;
        let done = exclusive::import_all(&mut session, page).await.map_err(before)?;
        session.commit().await.map_err(|failed| (BeforeCommit(false), failed))?;
        self.keep(connection);
        Ok(done)
    }

    /// A connection that answers a ping.
    async fn ready(&mut self) -> Result<PgConnection, GroupError> {
        let mut connection = self.connected().await?;
        if is_alive(&mut connection).await { Ok(connection) } else { self.connected().await }
    }
}

/// Collects consecutive imports, each conversation once, in the order in which groups lock rows.
fn page_of(first: Import, reply: ReplySender, steps: &mut VecDeque<SqlStep>) -> (Vec<Import>, Vec<ReplySender>) {
    let mut page = BTreeMap::from([(first.row.key.to_string(), (first, reply))]);
    loop {
        match steps.pop_front() {
            Some(SqlStep::Exclusive(exclusive, reply)) => match *exclusive {
                ExclusiveOperation::Import(next) if !page.contains_key(&next.row.key.to_string()) => {
                    page.insert(next.row.key.to_string(), (next, reply));
                    continue;
                }
                other => steps.push_front(SqlStep::Exclusive(Box::new(other), reply)),
            },
            Some(other) => steps.push_front(other),
            None => {}
        }
        return page.into_values().unzip();
    }
}

async fn finish(
    mut session: Session<'_>,
    facts: Facts,
    numbers: &mut Numbers,
    group: &mut Group,
) -> Result<Vec<OperationResult>, GroupError> {
    let (bulk, results) = decide_group(&mut session, facts, numbers, group).await?;
    session.end_of_writes().await?;
    let slot = session.slot;
    with_answer_timeout(bulk::write(bulk, slot, session.connection())).await?;
    failpoints::hit(failpoints::STORE_IN_COMMIT).await;
    session.commit().await?;
    Ok(results)
}

impl GroupExecutor for Writer {
    async fn run_steps(&mut self, mut steps: VecDeque<SqlStep>) -> VecDeque<SqlStep> {
        while let Some(step) = steps.pop_front() {
            let mut pending = Vec::new();
            let done = match step {
                SqlStep::Group(mut group) => {
                    let done = self.write_group(&mut group, &mut pending).await;
                    match &done {
                        Err(failed) => group.refuse(failed),
                        // The application's writes took too long. Leases use the control connection, so the rest need
                        // not wait.
                        Ok(()) if !group.is_empty() => steps.push_front(SqlStep::Group(group)),
                        Ok(()) => {}
                    }
                    done
                }
                SqlStep::Exclusive(exclusive, reply) => match *exclusive {
                    ExclusiveOperation::Import(first) => {
                        self.import(page_of(first, reply, &mut steps), &mut pending).await
                    }
                    exclusive => self.exclusive(exclusive, reply, &mut pending).await,
                },
            };
            pending.into_iter().for_each(|reply: PendingReply| reply.answer(done.as_ref().err()));
        }
        steps
    }

    async fn close(self) -> Result<(), GroupError> {
        if let Some(connection) = self.connection {
            // Everything is committed, so a failed close loses nothing.
            let _ = connection.close().await;
        }
        Ok(())
    }
}
