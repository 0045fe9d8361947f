//! A connection that writes, and what it does with a group.
//!
//! Nearly always everything is as a group expects: the lease is held, the versions are those that its turns began from,
//! its updates are new. So the group is first decided on that assumption and written by one statement, which checks it: a
//! transaction of its own, one way to the server and back. If anything is different, the statement fails as a whole, and
//! the group is decided step by step in three ways: begin, wait and ask; write; commit. A group in which the application
//! writes is always decided so.
//!
//! If a group fails, all of it is undone and every operation is told why; but one that failed before anything was decided,
//! because the connection was lost or others stood in each other's way, is tried once more. Whether a commit was carried
//! out whose answer was lost, nobody knows here: whoever asked finds out by the marks and versions.
//!
//! Two of these work at once: one writes what turns write, the other is the desk.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, PgConnection, Row};

use super::bulk::{self, AtOnce};
use super::facts::{Inquiry, PREPARE};
use super::server::{FINDING, Server, answered, is_alive};
use super::session::Session;
use crate::clock::Stopwatch;
use crate::failpoints;
use crate::store::Epoch;
use crate::store::sql::alone;
use crate::store::sql::decide::{decide_group, decide_plain};
use crate::store::sql::facts::{Facts, Leases};
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::numbers::{BLOCK, Numbers};
use crate::store::sql::operation::{Alone, Import, Operation};
use crate::store::sql::queue::{Carries, Step, wanted_numbers};
use crate::store::sql::request::{Decided, Group, Reply, Verdict, refuse};

/// A connection that has rested so long may be lost: it is asked first, for a lost answer to a group costs more.
const RESTED: Duration = Duration::from_millis(20);

/// The same of a group that can be tried again.
const RESTED_LONG: Duration = Duration::from_secs(2);

/// What writes.
pub(super) struct Writer {
    server: Server,
    /// Where it counts places.
    slot: i64,
    connection: Option<PgConnection>,
    /// Since the connection was last used.
    rested: Stopwatch,
    /// The leases as they were when they were last asked for.
    leases: Arc<Leases>,
    /// Those that are reserved.
    numbers: Numbers,
}

/// Whether a failure came before the commit, so that nothing was written.
struct BeforeCommit(bool);

/// What has to be known, and to be had, before operations are decided.
struct Wishes {
    inquiry: Inquiry,
    numbers: HashMap<Epoch, i64>,
    has_writes: bool,
}

impl Wishes {
    fn of(operations: &[Operation]) -> Result<Self, GroupFailed> {
        Ok(Self {
            inquiry: Inquiry::of(operations)?,
            numbers: wanted_numbers(operations),
            has_writes: operations.iter().any(Operation::has_writes),
        })
    }
}

impl Writer {
    /// It connects when it is first asked.
    pub(super) fn new(server: Server, slot: i64) -> Self {
        Self {
            server,
            slot,
            connection: None,
            rested: Stopwatch::start(),
            leases: Arc::default(),
            numbers: Numbers::default(),
        }
    }

    /// A connection that knows the statements of this library.
    async fn connected(&mut self) -> Result<PgConnection, GroupFailed> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let mut connection = self.server.connect_and_tell(FINDING).await.map_err(GroupFailed::because)?;
        answered(sqlx::raw_sql(PREPARE).execute(&mut connection)).await?;
        Ok(connection)
    }

    /// Carries operations out in one transaction. The connection is kept only if all went well: otherwise it may be
    /// anywhere in a transaction.
    async fn together(&mut self, group: &mut Group, decisions: &mut Vec<Decided>) -> Result<(), GroupFailed> {
        if self.may_assume(group.operations()) {
            let is_rested = self.rested.elapsed() >= RESTED;
            let mut connection = if is_rested { self.ready().await? } else { self.connected().await? };
            let written = self.at_once(&mut connection, group.operations()).await?;
            self.keep(connection);
            if let Some(verdicts) = written {
                decisions.extend(group.decided(verdicts));
                return Ok(());
            }
        }
        self.step_by_step(group, decisions).await
    }

    /// Whether a group may be decided without asking: its leases were held a moment ago, and it has nothing that one
    /// statement cannot do.
    fn may_assume(&self, operations: &[Operation]) -> bool {
        operations.iter().all(|operation| {
            let is_held = operation.epoch().is_some_and(|epoch| self.leases.are_held_under(epoch));
            is_held && !operation.has_writes() && !operation.takes_timer()
        }) && !failpoints::is_armed(failpoints::STORE_IN_COMMIT)
    }

    /// Decides a group by what it expects, and writes it by a statement that checks that. None: it is not as expected,
    /// and nothing was written.
    async fn at_once(
        &mut self,
        connection: &mut PgConnection,
        operations: &mut [Operation],
    ) -> Result<Option<Vec<Verdict>>, GroupFailed> {
        let wanted = wanted_numbers(operations);
        if self.reserve(wanted, connection).await.is_err() {
            return Ok(None);
        }
        let epochs: BTreeSet<Epoch> = operations.iter().filter_map(Operation::epoch).collect();
        let facts = Facts::assumed(Arc::clone(&self.leases), operations);
        let (bulk, mut verdicts) = decide_plain(facts, &mut self.numbers, operations)?;
        match answered(bulk::write_at_once(bulk, &epochs, self.slot, connection)).await? {
            AtOnce::Written(places) => {
                verdicts.iter_mut().flatten().for_each(|answered| answered.place(&places));
                Ok(Some(verdicts))
            }
            AtOnce::NotAsExpected => Ok(None),
        }
    }

    async fn step_by_step(&mut self, group: &mut Group, decisions: &mut Vec<Decided>) -> Result<(), GroupFailed> {
        let mut is_again = false;
        loop {
            // One that was lost is told by an error, and tried again; one that is half dead is told by nothing.
            let is_rested = self.rested.elapsed() >= RESTED_LONG;
            let mut connection = if is_rested { self.ready().await? } else { self.connected().await? };
            let wishes = Wishes::of(group.operations())?;
            match self.begin(&mut connection, wishes).await {
                Ok((session, facts)) => {
                    self.leases = facts.leases();
                    let verdicts = finish(session, facts, &mut self.numbers, group).await?;
                    decisions.extend(group.decided(verdicts));
                }
                Err(failed) if failed.is_passing() && !is_again => {
                    is_again = true;
                    continue;
                }
                Err(failed) => return Err(failed),
            }
            self.keep(connection);
            return Ok(());
        }
    }

    /// Begins a transaction and learns what operations are decided by. Their numbers are reserved before.
    async fn begin<'c>(
        &mut self,
        connection: &'c mut PgConnection,
        Wishes { inquiry, numbers: wanted, has_writes }: Wishes,
    ) -> Result<(Session<'c>, Facts), GroupFailed> {
        self.reserve(wanted, connection).await?;
        if has_writes {
            let mut session = Session::begin(connection, inquiry.begin(), self.slot).await?;
            let facts = answered(inquiry.ask(session.connection())).await?;
            return Ok((session, facts));
        }
        let facts = answered(inquiry.begin_and_ask(connection)).await?;
        Ok((Session::begun(connection, self.slot), facts))
    }

    /// Sees to it that so many numbers can be taken under each epoch, in a transaction of its own.
    async fn reserve(&mut self, wanted: HashMap<Epoch, i64>, connection: &mut PgConnection) -> Result<(), GroupFailed> {
        const RESERVE: &str = "UPDATE opora_leases SET numbers = numbers + $2 WHERE epoch = $1 RETURNING numbers";
        for (epoch, wanted) in wanted {
            if !self.numbers.has(epoch, wanted) {
                let size = wanted.max(BLOCK);
                let reserved = sqlx::query(RESERVE).bind(epoch.0).bind(size).fetch_optional(&mut *connection);
                // Without a lease the operations are refused, and take no number.
                if let Some(row) = answered(reserved).await? {
                    self.numbers.add(epoch, size, row.try_get(0)?);
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, connection: PgConnection) {
        self.connection = Some(connection);
        self.rested = Stopwatch::start();
    }

    async fn alone(&mut self, alone: Alone, reply: Reply, decisions: &mut Vec<Decided>) -> Result<(), GroupFailed> {
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
        decisions.push(alone::carry_out(alone, reply, &mut session).await?);
        session.commit().await?;
        self.keep(connection);
        Ok(())
    }

    /// Imports conversations in one transaction, in which each is told for itself.
    async fn import(
        &mut self,
        (page, replies): (Vec<Import>, Vec<Reply>),
        decisions: &mut Vec<Decided>,
    ) -> Result<(), GroupFailed> {
        let mut done = self.try_import(&page).await;
        if matches!(done, Err((BeforeCommit(true), _))) {
            // Somebody may have begun one of these conversations meanwhile: now it is there, and is waited for.
            done = self.try_import(&page).await;
        }
        let (done, failed) = match done {
            Ok(done) => (done, None),
            Err((_, failed)) => (vec![false; page.len()], Some(failed)),
        };
        decisions.extend(replies.into_iter().zip(done).map(|(reply, done)| Decided::new(reply, Ok(done.into()))));
        failed.map_or(Ok(()), Err)
    }

    async fn try_import(&mut self, page: &[Import]) -> Result<Vec<bool>, (BeforeCommit, GroupFailed)> {
        let before = |failed| (BeforeCommit(true), failed);
        let mut connection = self.ready().await.map_err(before)?;
        let begun = Session::begin(&mut connection, "BEGIN".to_owned(), self.slot).await;
        let mut session = begun.map_err(before)?;
        let done = alone::import_all(&mut session, page).await.map_err(before)?;
        session.commit().await.map_err(|failed| (BeforeCommit(false), failed))?;
        self.keep(connection);
        Ok(done)
    }

    /// A connection that was not lost since it was last used.
    async fn ready(&mut self) -> Result<PgConnection, GroupFailed> {
        let mut connection = self.connected().await?;
        if is_alive(&mut connection).await { Ok(connection) } else { self.connected().await }
    }
}

/// Imports that stand one after another go together, each conversation once, and in the order in which groups lock them.
fn page_of(first: Import, reply: Reply, steps: &mut VecDeque<Step>) -> (Vec<Import>, Vec<Reply>) {
    let mut page = BTreeMap::from([(first.row.key.to_string(), (first, reply))]);
    loop {
        match steps.pop_front() {
            Some(Step::Alone(alone, reply)) => match *alone {
                Alone::Import(next) if !page.contains_key(&next.row.key.to_string()) => {
                    page.insert(next.row.key.to_string(), (next, reply));
                    continue;
                }
                other => steps.push_front(Step::Alone(Box::new(other), reply)),
            },
            Some(other) => steps.push_front(other),
            None => {}
        }
        return page.into_values().unzip();
    }
}

/// Decides, writes and commits.
async fn finish(
    mut session: Session<'_>,
    facts: Facts,
    numbers: &mut Numbers,
    group: &mut Group,
) -> Result<Vec<Verdict>, GroupFailed> {
    let (bulk, verdicts) = decide_group(&mut session, facts, numbers, group).await?;
    session.end_of_writes().await?;
    let slot = session.slot;
    answered(bulk::write(bulk, slot, session.connection())).await?;
    failpoints::hit(failpoints::STORE_IN_COMMIT).await;
    session.commit().await?;
    Ok(verdicts)
}

impl Carries for Writer {
    async fn carry_out(&mut self, mut steps: VecDeque<Step>) -> VecDeque<Step> {
        while let Some(step) = steps.pop_front() {
            let mut decisions = Vec::new();
            let done = match step {
                Step::Together(mut group) => {
                    let done = self.together(&mut group, &mut decisions).await;
                    match &done {
                        Err(failed) => group.refuse(failed),
                        // The application has written for long enough. Leases are the desk's, so the rest need not wait.
                        Ok(()) if !group.is_empty() => steps.push_front(Step::Together(group)),
                        Ok(()) => {}
                    }
                    done
                }
                Step::Alone(alone, reply) => match *alone {
                    Alone::Import(first) => self.import(page_of(first, reply, &mut steps), &mut decisions).await,
                    alone => self.alone(alone, reply, &mut decisions).await,
                },
            };
            decisions.into_iter().for_each(|decided: Decided| decided.answer(done.as_ref().err()));
        }
        steps
    }

    async fn close(self) -> Result<(), GroupFailed> {
        if let Some(connection) = self.connection {
            // Everything is committed: there is nothing to lose.
            let _ = connection.close().await;
        }
        Ok(())
    }
}
