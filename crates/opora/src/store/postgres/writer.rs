//! A connection that writes, and what it does with a group.
//!
//! A group is one transaction, and three ways to the server and back: begin, wait and ask; write; commit. If it fails,
//! all of it is undone and every operation is told why; but one that failed before anything was decided, because the
//! connection was lost or others stood in each other's way, is tried once more. Whether a commit was carried out whose
//! answer was lost, nobody knows here: whoever asked finds out by the marks and versions.
//!
//! Several of these work at once. What belongs to one chat goes to one of them, so its order is kept, and the numbers
//! that they give are counted together.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sqlx::{Connection, PgConnection, Row};
use tokio::sync::Mutex;

use super::bulk;
use super::facts::{Inquiry, PREPARE};
use super::server::{Server, answered};
use super::session::Session;
use crate::failpoints;
use crate::store::Epoch;
use crate::store::sql::alone;
use crate::store::sql::decide::decide;
use crate::store::sql::facts::Facts;
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::numbers::{BLOCK, Numbers};
use crate::store::sql::operation::{Alone, Decided, Operation};
use crate::store::sql::plan::Plan;
use crate::store::sql::queue::{Carries, Step, wanted_numbers};

/// What writes.
pub(super) struct Writer {
    server: Server,
    /// Where it counts places.
    slot: i64,
    connection: Option<PgConnection>,
    /// Those of all writers of this store.
    numbers: Arc<Mutex<Numbers>>,
}

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
    pub(super) fn new(server: Server, slot: i64, numbers: Arc<Mutex<Numbers>>) -> Self {
        Self { server, slot, connection: None, numbers }
    }

    /// A connection that knows the statements of this library.
    async fn connected(&mut self) -> Result<PgConnection, GroupFailed> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let mut connection = self.server.connect().await.map_err(GroupFailed::because)?;
        answered(sqlx::raw_sql(PREPARE).execute(&mut connection)).await?;
        Ok(connection)
    }

    /// Carries operations out in one transaction. The connection is kept only if all went well: otherwise it may be
    /// anywhere in a transaction.
    async fn together(
        &mut self,
        operations: &mut VecDeque<Operation>,
        decisions: &mut Vec<Decided>,
    ) -> Result<(), GroupFailed> {
        let mut is_again = false;
        loop {
            let mut connection = self.connected().await?;
            let wishes = Wishes::of(operations.make_contiguous())?;
            match self.begin(&mut connection, wishes).await {
                Ok((session, facts, numbers)) => finish(session, facts, numbers, operations, decisions).await?,
                Err(failed) if failed.is_passing() && !is_again => {
                    is_again = true;
                    continue;
                }
                Err(failed) => return Err(failed),
            }
            self.connection = Some(connection);
            return Ok(());
        }
    }

    /// Begins a transaction and learns what operations are decided by, and under which numbers.
    async fn begin<'c>(
        &self,
        connection: &'c mut PgConnection,
        Wishes { inquiry, numbers: wanted, has_writes }: Wishes,
    ) -> Result<(Session<'c>, Facts, Numbers), GroupFailed> {
        let mut numbers = Numbers::default();
        for (epoch, count) in wanted {
            reserve(&self.numbers, &mut numbers, connection, epoch, count).await?;
        }
        if has_writes {
            let mut session = Session::begin(connection, inquiry.begin(), self.slot).await?;
            let facts = answered(inquiry.ask(session.connection())).await?;
            return Ok((session, facts, numbers));
        }
        let facts = answered(inquiry.begin_and_ask(connection)).await?;
        Ok((Session::begun(connection, self.slot), facts, numbers))
    }

    async fn alone(&mut self, alone: Alone, decisions: &mut Vec<Decided>) -> Result<(), GroupFailed> {
        let mut connection = match self.ready().await {
            Ok(connection) => connection,
            Err(failed) => {
                alone.refuse(&failed);
                return Err(failed);
            }
        };
        let mut session = Session::begin(&mut connection, "BEGIN".to_owned(), self.slot).await?;
        decisions.push(alone::carry_out(alone, &mut session).await?);
        session.commit().await?;
        self.connection = Some(connection);
        Ok(())
    }

    /// A connection that was not lost since it was last used.
    async fn ready(&mut self) -> Result<PgConnection, GroupFailed> {
        let mut connection = self.connected().await?;
        match answered(connection.ping()).await {
            Ok(()) => Ok(connection),
            Err(_) => self.connected().await,
        }
    }
}

/// Decides, writes and commits.
async fn finish(
    mut session: Session<'_>,
    facts: Facts,
    mut numbers: Numbers,
    operations: &mut VecDeque<Operation>,
    decisions: &mut Vec<Decided>,
) -> Result<(), GroupFailed> {
    let mut plan = Plan::new(facts, &mut numbers);
    while let Some(operation) = operations.pop_front() {
        decisions.push(decide(&mut session, &mut plan, operation).await?);
    }
    let slot = session.slot;
    answered(bulk::write(plan.into_bulk()?, slot, session.connection())).await?;
    failpoints::hit(failpoints::STORE_IN_COMMIT).await;
    session.commit().await
}

impl Carries for Writer {
    async fn carry_out(&mut self, steps: VecDeque<Step>) {
        for step in steps {
            let mut decisions = Vec::new();
            let done = match step {
                Step::Together(mut operations) => {
                    let done = self.together(&mut operations, &mut decisions).await;
                    if let Err(failed) = &done {
                        operations.into_iter().for_each(|operation| operation.refuse(failed));
                    }
                    done
                }
                Step::Alone(alone) => self.alone(*alone, &mut decisions).await,
            };
            decisions.into_iter().for_each(|answer: Decided| answer(done.as_ref().err()));
        }
    }

    async fn close(self) -> Result<(), GroupFailed> {
        if let Some(connection) = self.connection {
            // Everything is committed: there is nothing to lose.
            let _ = connection.close().await;
        }
        Ok(())
    }
}

/// Sets `wanted` numbers apart. A block of them is reserved in a transaction of its own, for other writers use it too.
async fn reserve(
    shared: &Mutex<Numbers>,
    numbers: &mut Numbers,
    connection: &mut PgConnection,
    epoch: Epoch,
    wanted: i64,
) -> Result<(), GroupFailed> {
    let mut shared = shared.lock().await;
    if !shared.has(epoch, wanted) {
        let size = wanted.max(BLOCK);
        let reserve = "UPDATE opora_leases SET numbers = numbers + $2 WHERE epoch = $1 RETURNING numbers";
        let reserved = sqlx::query(reserve).bind(epoch.0).bind(size).fetch_optional(connection);
        // Without a lease the operations are refused, and take no number.
        let Some(row) = answered(reserved).await? else { return Ok(()) };
        shared.add(epoch, size, row.try_get(0)?);
    }
    if let Some(apart) = shared.split(epoch, wanted) {
        numbers.join(apart);
    }
    Ok(())
}
