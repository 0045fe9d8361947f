//! Leases in Redis.
//!
//! The lease is one key; every partition header holds the epoch that may write. A claim takes the lease first and
//! raises the epoch in all headers before it is granted, so an earlier holder is refused everywhere by then. If a
//! claimer dies in between, some partitions refuse the former holder and some do not: its next renewal fails, and the
//! next claim has a higher epoch and raises all headers again. A slow claimer raises nothing, because an epoch only
//! rises, and learns who was faster.
//!
//! A server that came back older may grant an epoch twice. So every write, renewal and release is also compared by the
//! token of its lease, and a claim goes above every epoch that was seen. The lease also carries what its holder has
//! seen of the server, for standbys.

use super::RedisBackend;
use super::connection::Call;
use super::held_leases::{HeldLease, token_hash};
use super::keys::{KeyKind, PARTITIONS};
use super::last_seen::{LeaderView, RedisLoss};
use super::rows::unreadable;
use super::writes::WriteAnswer;
use crate::store::{Epoch, Holder, Lease, LeaseAnswer, StoreError, StoreResult};

/// The result of one attempt to claim.
enum ClaimResult {
    Answered(LeaseAnswer),
    /// An equal or higher epoch was granted meanwhile.
    Late(Epoch),
}

impl RedisBackend {
    /// Claims the lease under an epoch above `floor` and above every epoch that was seen. A database may know a higher
    /// epoch than this Redis, and passes it as `floor`.
    pub(crate) async fn claim_above(
        &self,
        floor: Epoch,
        bot: i64,
        holder: &Holder,
        seen: Option<&Lease>,
    ) -> StoreResult<LeaseAnswer> {
        if let Some(held) = self.blocking_lease(bot, seen).await? {
            return Ok(LeaseAnswer::Held(Box::new(held)));
        }
        self.verify(bot).await?;
        self.register_bot(bot).await?;
        let first = self.next_epoch(floor.max(Epoch(self.last_seen.epoch()))).await?;
        let lost = self.lost_claims.lock().get(&bot).cloned();
        let claimed = self.claim_under(bot, first, holder, seen.cloned(), lost.as_deref()).await;
        let mut lost_claims = self.lost_claims.lock();
        match &claimed {
            Ok(_) => lost_claims.remove(&bot),
            // The lease may have been granted: the next claim recognises it by this token and need not wait.
            Err(_) => lost_claims.insert(bot, holder.token.clone()),
        };
        drop(lost_claims);
        claimed
    }

    /// The lease of another holder that prevents a claim. A standby needs only this one read; it also notes what the
    /// holder has seen of the server.
    pub(crate) async fn blocking_lease(&self, bot: i64, seen: Option<&Lease>) -> StoreResult<Option<Lease>> {
        let lost = self.lost_claims.lock().get(&bot).cloned();
        let blocks = |held: &Lease| {
            // Our own lease, whose answer was lost, is claimed again.
            !held.is_unchanged(seen) && lost.as_deref() != Some(&*held.holder.token)
        };
        let Some((lease, view)) = self.lease_and_view(bot).await? else { return Ok(None) };
        match serde_json::from_str::<LeaderView>(&view) {
            Ok(view) => self.last_seen.note_lease(bot, lease.epoch.0, &view),
            // The lease is still valid: a standby needs the view only to notice a loss.
            Err(error) => {
                tracing::warn!(bot, %error, "cannot read the leader's last-seen record: a loss may go unnoticed");
            }
        }
        Ok(Some(lease).filter(blocks))
    }

    /// Claims under an epoch, and under higher ones until the claim is granted or refused.
    async fn claim_under(
        &self,
        bot: i64,
        mut epoch: Epoch,
        holder: &Holder,
        mut seen: Option<Lease>,
        lost: Option<&str>,
    ) -> StoreResult<LeaseAnswer> {
        let token = token_hash(&holder.token);
        loop {
            let mut floor = epoch;
            match self.try_claim(bot, epoch, holder, seen.as_ref()).await? {
                ClaimResult::Answered(LeaseAnswer::Granted(_)) => match self.raise_epoch(bot, epoch, &token).await? {
                    highest if highest == epoch => {
                        self.last_seen.note_epoch(epoch.0);
                        self.held_leases.begin(bot, epoch, &holder.token, self.last_seen.progress_of(bot));
                        return Ok(LeaseAnswer::Granted(epoch));
                    }
                    // Another instance was faster. Or the lease is ours, and some headers have a higher epoch, as after
                    // a partial loss: go above them.
                    highest => match self.lease_of(bot).await? {
                        Some(lease) if lease.epoch > epoch => return Ok(LeaseAnswer::Held(Box::new(lease))),
                        lease => (floor, seen) = (highest, lease),
                    },
                },
                ClaimResult::Answered(LeaseAnswer::Held(held)) => {
                    if seen.is_some() || lost != Some(&*held.holder.token) {
                        return Ok(LeaseAnswer::Held(held));
                    }
                    seen = Some(*held);
                }
                ClaimResult::Late(later) => floor = later,
            }
            epoch = self.next_epoch(floor).await?;
        }
    }

    pub(super) async fn renew_lease(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        // Fails if a loss has ended this lease.
        let held_lease = self.held_leases.get(epoch, bot)?;
        let args = vec![epoch.0.to_string(), held_lease.token.to_string(), self.view(bot)?];
        let keys = [self.keys.lease(bot)];
        let answer = self.connection.call(Call { function: "renew", keys: &keys, args }).await?;
        self.check_word(bot, epoch, word_of(&answer)).await
    }

    /// Ends a lease. With `mine`, only the lease of that epoch.
    pub(super) async fn end_lease(&self, bot: i64, mine: Option<Epoch>) -> StoreResult<()> {
        // Fails after a loss: such a server is not written to.
        let held_lease = mine.map(|mine| self.held_leases.get(mine, bot)).transpose()?;
        let next = self.next_epoch(mine.unwrap_or_default()).await?;
        let mut args = vec![next.0.to_string(), String::new()];
        if let Some(held_lease) = held_lease {
            args[1] = held_lease.epoch.0.to_string();
            args.push(held_lease.token.to_string());
        }
        let keys = [self.keys.lease(bot)];
        let answer = self.connection.call(Call { function: "let_go", keys: &keys, args }).await?;
        self.check_word(bot, mine.unwrap_or_default(), word_of(&answer)).await?;
        self.raise_epoch(bot, next, "").await.map(drop)
    }

    pub(super) async fn lease_of(&self, bot: i64) -> StoreResult<Option<Lease>> {
        Ok(self.lease_and_view(bot).await?.map(|(lease, _)| lease))
    }

    /// The lease, and the JSON of its holder's [`LeaderView`].
    async fn lease_and_view(&self, bot: i64) -> StoreResult<Option<(Lease, String)>> {
        type Fields = (Option<i64>, Option<i64>, Option<String>, Option<String>);
        let mut command = redis::cmd("HMGET");
        command.arg(self.keys.lease(bot)).arg(&["epoch", "renewals", "holder", "view"]);
        let (epoch, renewals, holder, view): Fields = self.connection.query(&command).await?;
        let Some(holder) = holder else { return Ok(None) };
        let holder = serde_json::from_str(&holder).map_err(unreadable)?;
        let lease = Lease { epoch: Epoch(epoch.unwrap_or_default()), holder, renewals: renewals.unwrap_or_default() };
        Ok(Some((lease, view.unwrap_or_default())))
    }

    /// The JSON of what was seen here, for the lease.
    fn view(&self, bot: i64) -> StoreResult<String> {
        serde_json::to_string(&self.last_seen.view(bot)).map_err(unreadable)
    }

    /// Adds a bot to the list of bots.
    pub(super) async fn register_bot(&self, bot: i64) -> StoreResult<()> {
        let keys = [self.keys.bots()];
        let args = vec![bot.to_string()];
        self.connection.call(Call { function: "remember", keys: &keys, args }).await.map(drop)
    }

    /// Turns the first word of a function's answer into a result.
    pub(super) async fn check_word(&self, bot: i64, epoch: Epoch, word: &str) -> StoreResult<()> {
        match word {
            "fenced" => Err(self.fenced_error(bot, epoch).await),
            "taken" => Err(StoreError::AlreadyProcessed),
            "" => Err(unreadable("a function answered nothing")),
            _ => Ok(()),
        }
    }

    /// Checks several answers. The first refusal counts.
    pub(super) async fn check_all(&self, held_lease: &HeldLease, answers: &[WriteAnswer]) -> StoreResult<()> {
        for answer in answers {
            self.check_word(held_lease.bot, held_lease.epoch, &answer.word).await?;
        }
        Ok(())
    }

    /// Checks that the epoch may write.
    pub(super) async fn check_lease(&self, held_lease: &HeldLease) -> StoreResult<()> {
        let bot_keys = self.keys.bot_keys(held_lease.bot);
        let call = Call {
            function: "check",
            keys: bot_keys.up_to(0, KeyKind::Header),
            args: vec![held_lease.fencing_token.to_string()],
        };
        let answer = self.connection.call(call).await?;
        self.check_word(held_lease.bot, held_lease.epoch, word_of(&answer)).await
    }

    /// The error of a refused write: another instance has the lease, or the server has lost data.
    async fn fenced_error(&self, bot: i64, mine: Epoch) -> StoreError {
        let lease = self.lease_of(bot).await;
        let is_of_another = matches!(&lease, Ok(Some(lease)) if !self.is_ours(bot, mine, lease));
        match self.loss_of(bot).await {
            // The present leader has accepted the loss or never saw the lost data.
            Ok(Some(loss)) if !loss.is_other_data && is_of_another => {
                tracing::error!(bot, missing = loss.missing, what = %loss, "another instance leads on an older Redis");
            }
            Ok(Some(loss)) => return self.end_term(loss),
            _ => {}
        }
        let holder = match lease {
            Ok(Some(lease)) => lease.in_words(),
            Ok(None) => "no instance holds it".to_owned(),
            Err(_) => "its present holder is unknown".to_owned(),
        };
        StoreError::Fenced { mine, holder }
    }

    /// Whether a lease is ours, also if a loss has just ended it.
    fn is_ours(&self, bot: i64, mine: Epoch, lease: &Lease) -> bool {
        self.held_leases.get(mine, bot).is_ok_and(|held_lease| *held_lease.token == lease.holder.token)
            || self.lost_claims.lock().get(&bot) == Some(&lease.holder.token)
    }

    /// The error of a delivery that was refused because the server came back older. If only deliveries are missing,
    /// perhaps only this instance knows it, so it accepts the loss, with a lease or without.
    pub(super) async fn delivery_refused_error(&self, bot: i64) -> StoreError {
        match self.loss_of(bot).await {
            Ok(Some(loss)) if loss.is_only_deliveries => match self.continue_after(loss.clone()).await {
                Ok(()) => StoreError::Unavailable("Redis has lost delivered updates; the next deliveries go on".into()),
                Err(StoreError::Lost { .. }) => self.end_term(loss),
                Err(error) => error,
            },
            Ok(Some(loss)) => self.end_term(loss),
            _ => StoreError::Unavailable("Redis came back older, and another instance has accepted that".into()),
        }
    }

    /// Ends our lease, because the server has lost data.
    fn end_term(&self, loss: RedisLoss) -> StoreError {
        // The lease may still exist on the server: the next claim recognises it by this token.
        if let Some(held_lease) = self.held_leases.end(loss.bot) {
            self.lost_claims.lock().insert(loss.bot, held_lease.token.to_string());
        }
        loss.into_error()
    }

    async fn next_epoch(&self, floor: Epoch) -> StoreResult<Epoch> {
        let keys = [self.keys.epochs()];
        let args = vec![floor.0.to_string()];
        let answer = self.connection.call(Call { function: "next_epoch", keys: &keys, args }).await?;
        epoch_in(answer.first())
    }

    async fn try_claim(
        &self,
        bot: i64,
        epoch: Epoch,
        holder: &Holder,
        seen: Option<&Lease>,
    ) -> StoreResult<ClaimResult> {
        let json = serde_json::to_string(holder).map_err(unreadable)?;
        let mut args = vec![epoch.0.to_string(), json, holder.token.clone(), self.view(bot)?];
        if let Some(seen) = seen {
            args.extend([seen.epoch.0.to_string(), seen.renewals.to_string(), seen.holder.token.clone()]);
        }
        let keys = [self.keys.lease(bot)];
        let answer = self.connection.call(Call { function: "claim", keys: &keys, args }).await?;
        match &answer.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["granted"] => Ok(ClaimResult::Answered(LeaseAnswer::Granted(epoch))),
            ["late", later] => Ok(ClaimResult::Late(Epoch(later.parse().map_err(unreadable)?))),
            ["held", epoch, renewals, holder] => {
                let epoch = Epoch(epoch.parse().map_err(unreadable)?);
                let renewals = renewals.parse().map_err(unreadable)?;
                let holder = serde_json::from_str(holder).map_err(unreadable)?;
                Ok(ClaimResult::Answered(LeaseAnswer::Held(Box::new(Lease { epoch, holder, renewals }))))
            }
            other => Err(unreadable(format!("a claim was answered with {other:?}"))),
        }
    }

    /// Raises the epoch in all partition headers. Returns the highest epoch that is taken.
    async fn raise_epoch(&self, bot: i64, epoch: Epoch, token: &str) -> StoreResult<Epoch> {
        let bot_keys = self.keys.bot_keys(bot);
        let raising = |partition| {
            let args = vec![epoch.0.to_string(), token.to_owned()];
            Call { function: "raise", keys: bot_keys.up_to(partition, KeyKind::Conversations), args }
        };
        let answers = self.connection.call_all((0..PARTITIONS).map(raising).collect()).await?;
        let mut highest = epoch;
        for answer in answers {
            highest = highest.max(epoch_in(answer.first())?);
        }
        Ok(highest)
    }
}

fn word_of(answer: &[String]) -> &str {
    answer.first().map_or("", String::as_str)
}

fn epoch_in(text: Option<&String>) -> StoreResult<Epoch> {
    let number = text.and_then(|text| text.parse().ok());
    number.map(Epoch).ok_or_else(|| unreadable("an epoch is not a number"))
}
