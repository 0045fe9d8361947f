//! Who may write.
//!
//! The lease is decided in one key; the epoch that may write stands in every room. A claim decides first and raises the
//! epoch in all rooms before it is granted, so whoever held the lease before is refused everywhere by then. If a claimer
//! dies between the two, some rooms refuse the former holder and some do not; its next renewal fails, and the next claim
//! has a higher epoch and raises all rooms again. A claimer that was slow raises nothing, for an epoch only ever rises,
//! and is told who was faster.
//!
//! A server that came back older may have forgotten an epoch and give it again. So every write, a renewal and a release are
//! compared by the token of their lease as well, and a claim goes above every epoch that was ever seen from here. The lease
//! also says what its holder has seen of the server, so that whoever stands by knows it too.

use super::RedisBackend;
use super::keys::{PARTITIONS, Thing};
use super::numbers::{Own, in_short};
use super::progress::Written;
use super::rows::unreadable;
use super::wire::Call;
use super::witness::{RedisLoss, View};
use crate::store::{Epoch, Holder, Lease, LeaseAnswer, StoreError, StoreResult};

/// What a claim came to.
enum Claimed {
    Answered(LeaseAnswer),
    /// An epoch that is not lower was given meanwhile.
    Late(Epoch),
}

impl RedisBackend {
    /// Claims the lease under an epoch above `floor`, of which others may know more than this Redis does, and above all that
    /// were seen.
    pub(in crate::store) async fn claim_above(
        &self,
        floor: Epoch,
        bot: i64,
        holder: &Holder,
        seen: Option<&Lease>,
    ) -> StoreResult<LeaseAnswer> {
        if let Some(held) = self.held(bot, seen).await? {
            return Ok(LeaseAnswer::Held(Box::new(held)));
        }
        self.verify(bot).await?;
        self.remember(bot).await?;
        let first = self.next_epoch(floor.max(Epoch(self.witness.epoch()))).await?;
        let lost = self.lost_claims.lock().get(&bot).cloned();
        let claimed = self.claim_under(bot, first, holder, seen.cloned(), lost.as_deref()).await;
        let mut lost_claims = self.lost_claims.lock();
        match &claimed {
            Ok(_) => lost_claims.remove(&bot),
            // It may have been granted: the next claim knows it by its token and need not wait until it is over.
            Err(_) => lost_claims.insert(bot, holder.token.clone()),
        };
        drop(lost_claims);
        claimed
    }

    /// The lease, if it is not to be had: who stands by learns that by one read, and asks for nothing else. What its holder
    /// has seen comes along, and is taken note of.
    pub(in crate::store) async fn held(&self, bot: i64, seen: Option<&Lease>) -> StoreResult<Option<Lease>> {
        let lost = self.lost_claims.lock().get(&bot).cloned();
        let is_in_the_way = |held: &Lease| {
            // One of our own, whose answer was lost, is claimed again.
            !held.is_unchanged(seen) && lost.as_deref() != Some(&*held.holder.token)
        };
        let Some((lease, view)) = self.lease_and_view(bot).await? else { return Ok(None) };
        match serde_json::from_str::<View>(&view) {
            Ok(view) => self.witness.saw_lease(bot, lease.epoch.0, &view),
            // The lease counts all the same: a standby needs the view only to notice a loss.
            Err(error) => {
                tracing::warn!(bot, %error, "cannot read what the leader has seen of Redis: its loss may go unnoticed");
            }
        }
        Ok(Some(lease).filter(is_in_the_way))
    }

    /// Claims under an epoch, or under the next one as often as somebody else was faster.
    async fn claim_under(
        &self,
        bot: i64,
        mut epoch: Epoch,
        holder: &Holder,
        mut seen: Option<Lease>,
        lost: Option<&str>,
    ) -> StoreResult<LeaseAnswer> {
        let token = in_short(&holder.token);
        loop {
            let mut floor = epoch;
            match self.try_claim(bot, epoch, holder, seen.as_ref()).await? {
                Claimed::Answered(LeaseAnswer::Granted(_)) => match self.raise(bot, epoch, &token).await? {
                    highest if highest == epoch => {
                        self.witness.saw_epoch(epoch.0);
                        self.numbers.begin(bot, epoch, &holder.token, self.witness.of(bot));
                        return Ok(LeaseAnswer::Granted(epoch));
                    }
                    // Somebody was faster; or, if the lease is still ours, rooms know more than it does, as after a
                    // partial loss: go above them.
                    highest => match self.lease_of(bot).await? {
                        Some(lease) if lease.epoch > epoch => return Ok(LeaseAnswer::Held(Box::new(lease))),
                        lease => (floor, seen) = (highest, lease),
                    },
                },
                Claimed::Answered(LeaseAnswer::Held(held)) => {
                    if seen.is_some() || lost != Some(&*held.holder.token) {
                        return Ok(LeaseAnswer::Held(held));
                    }
                    seen = Some(*held);
                }
                Claimed::Late(later) => floor = later,
            }
            epoch = self.next_epoch(floor).await?;
        }
    }

    pub(super) async fn renew_lease(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        // A term that a loss has ended is not gone on with.
        let own = self.numbers.own_of(epoch, bot)?;
        let args = vec![epoch.0.to_string(), own.token.to_string(), self.view(bot)?];
        let keys = [self.keys.lease(bot)];
        let answer = self.wire.call(Call { function: "renew", keys: &keys, args }).await?;
        self.done(bot, epoch, word_of(&answer)).await
    }

    /// Ends a lease; if `mine` is said, only that one.
    pub(super) async fn let_go(&self, bot: i64, mine: Option<Epoch>) -> StoreResult<()> {
        // A server that has lost something is not written to.
        let own = mine.map(|mine| self.numbers.own_of(mine, bot)).transpose()?;
        let nobodys = self.next_epoch(mine.unwrap_or_default()).await?;
        let mut args = vec![nobodys.0.to_string(), String::new()];
        if let Some(own) = own {
            args[1] = own.epoch.0.to_string();
            args.push(own.token.to_string());
        }
        let keys = [self.keys.lease(bot)];
        let answer = self.wire.call(Call { function: "let_go", keys: &keys, args }).await?;
        self.done(bot, mine.unwrap_or_default(), word_of(&answer)).await?;
        self.raise(bot, nobodys, "").await.map(drop)
    }

    pub(super) async fn lease_of(&self, bot: i64) -> StoreResult<Option<Lease>> {
        Ok(self.lease_and_view(bot).await?.map(|(lease, _)| lease))
    }

    /// The lease, and what its holder has seen, as the JSON of a [`View`].
    async fn lease_and_view(&self, bot: i64) -> StoreResult<Option<(Lease, String)>> {
        type Fields = (Option<i64>, Option<i64>, Option<String>, Option<String>);
        let mut command = redis::cmd("HMGET");
        command.arg(self.keys.lease(bot)).arg(&["epoch", "renewals", "holder", "view"]);
        let (epoch, renewals, holder, view): Fields = self.wire.ask(&command).await?;
        let Some(holder) = holder else { return Ok(None) };
        let holder = serde_json::from_str(&holder).map_err(unreadable)?;
        let lease = Lease { epoch: Epoch(epoch.unwrap_or_default()), holder, renewals: renewals.unwrap_or_default() };
        Ok(Some((lease, view.unwrap_or_default())))
    }

    /// What was seen here, as a lease says it.
    fn view(&self, bot: i64) -> StoreResult<String> {
        serde_json::to_string(&self.witness.view(bot)).map_err(unreadable)
    }

    /// Notes that a bot has something here.
    pub(super) async fn remember(&self, bot: i64) -> StoreResult<()> {
        let keys = [self.keys.bots()];
        let args = vec![bot.to_string()];
        self.wire.call(Call { function: "remember", keys: &keys, args }).await.map(drop)
    }

    /// Turns a function's word into an answer.
    pub(super) async fn done(&self, bot: i64, epoch: Epoch, word: &str) -> StoreResult<()> {
        match word {
            "fenced" => Err(self.fenced(bot, epoch).await),
            "taken" => Err(StoreError::AlreadyTaken),
            "" => Err(unreadable("a function answered nothing")),
            _ => Ok(()),
        }
    }

    /// The same for many; the first refusal counts.
    pub(super) async fn all_done(&self, own: &Own, answers: &[Written]) -> StoreResult<()> {
        for answer in answers {
            self.done(own.bot, own.epoch, &answer.word).await?;
        }
        Ok(())
    }

    /// Asks for nothing but whether the epoch may write.
    pub(super) async fn check(&self, own: &Own) -> StoreResult<()> {
        let rooms = self.keys.rooms(own.bot);
        let call = Call { function: "check", keys: rooms.up_to(0, Thing::Room), args: vec![own.text()] };
        let answer = self.wire.call(call).await?;
        self.done(own.bot, own.epoch, word_of(&answer)).await
    }

    /// A write was refused: because another instance has the lease, or because something is missing here.
    async fn fenced(&self, bot: i64, mine: Epoch) -> StoreError {
        let lease = self.lease_of(bot).await;
        let is_anothers = matches!(&lease, Ok(Some(lease)) if !self.is_ours(bot, mine, lease));
        match self.loss_of(bot).await {
            // Who leads now goes on with what is there, and has accepted it or never knew of it.
            Ok(Some(loss)) if !loss.is_other && is_anothers => {
                tracing::error!(bot, missing = loss.missing, what = %loss, "another instance leads on an older Redis");
            }
            Ok(Some(loss)) => return self.end_by(loss),
            _ => {}
        }
        let holder = match lease {
            Ok(Some(lease)) => lease.in_words(),
            Ok(None) => "nobody holds it".to_owned(),
            Err(_) => "it is not known who holds it".to_owned(),
        };
        StoreError::Fenced { mine, holder }
    }

    /// Whether a lease is the one of an epoch here, also if a loss has just ended that.
    fn is_ours(&self, bot: i64, mine: Epoch, lease: &Lease) -> bool {
        self.numbers.own_of(mine, bot).is_ok_and(|own| *own.token == lease.holder.token)
            || self.lost_claims.lock().get(&bot) == Some(&lease.holder.token)
    }

    /// A delivery was refused, because the room has had less than was seen. What is missing of deliveries alone nobody else may
    /// know of: that is seen to here, with an epoch or without.
    pub(super) async fn came_back_older(&self, bot: i64) -> StoreError {
        match self.loss_of(bot).await {
            Ok(Some(loss)) if loss.is_of_deliveries => match self.go_on_after(loss.clone()).await {
                Ok(()) => StoreError::Unavailable("Redis has lost updates that were delivered; the next go on".into()),
                Err(StoreError::Lost { .. }) => self.end_by(loss),
                Err(error) => error,
            },
            Ok(Some(loss)) => self.end_by(loss),
            _ => StoreError::Unavailable("Redis came back older, and somebody has seen to it".into()),
        }
    }

    /// Ends a term of ours, because something is missing here.
    fn end_by(&self, loss: RedisLoss) -> StoreError {
        // The lease may still be there, and is ours.
        if let Some(own) = self.numbers.end(loss.bot) {
            self.lost_claims.lock().insert(loss.bot, own.token.to_string());
        }
        loss.into_error()
    }

    async fn next_epoch(&self, floor: Epoch) -> StoreResult<Epoch> {
        let keys = [self.keys.epochs()];
        let args = vec![floor.0.to_string()];
        let answer = self.wire.call(Call { function: "next_epoch", keys: &keys, args }).await?;
        epoch_in(answer.first())
    }

    async fn try_claim(&self, bot: i64, epoch: Epoch, holder: &Holder, seen: Option<&Lease>) -> StoreResult<Claimed> {
        let json = serde_json::to_string(holder).map_err(unreadable)?;
        let mut args = vec![epoch.0.to_string(), json, holder.token.clone(), self.view(bot)?];
        if let Some(seen) = seen {
            args.extend([seen.epoch.0.to_string(), seen.renewals.to_string(), seen.holder.token.clone()]);
        }
        let keys = [self.keys.lease(bot)];
        let answer = self.wire.call(Call { function: "claim", keys: &keys, args }).await?;
        match &answer.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["granted"] => Ok(Claimed::Answered(LeaseAnswer::Granted(epoch))),
            ["late", later] => Ok(Claimed::Late(Epoch(later.parse().map_err(unreadable)?))),
            ["held", epoch, renewals, holder] => {
                let epoch = Epoch(epoch.parse().map_err(unreadable)?);
                let renewals = renewals.parse().map_err(unreadable)?;
                let holder = serde_json::from_str(holder).map_err(unreadable)?;
                Ok(Claimed::Answered(LeaseAnswer::Held(Box::new(Lease { epoch, holder, renewals }))))
            }
            other => Err(unreadable(format!("a claim was answered with {other:?}"))),
        }
    }

    /// Raises the epoch in all rooms, for the lease of a token in short; answers the highest that is not to be had any more.
    async fn raise(&self, bot: i64, epoch: Epoch, token: &str) -> StoreResult<Epoch> {
        let rooms = self.keys.rooms(bot);
        let raising = |partition| {
            let args = vec![epoch.0.to_string(), token.to_owned()];
            Call { function: "raise", keys: rooms.up_to(partition, Thing::Conv), args }
        };
        let answers = self.wire.call_all((0..PARTITIONS).map(raising).collect()).await?;
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
