//! Faults of the inbox.

use opora::key::ConversationKey;
use opora::store::{
    Delivered, EffectId, Epoch, InboxRow, Incoming, InputRef, LeaseAnswer, Mark, Origin, Outgoing, ParkResult,
    ParkedTurn, Receipt, Seq, StoreError, StoreResult,
};

use super::{Broken, Fault};

impl Broken {
    pub(super) async fn broken_receive(&self, epoch: Epoch, mut batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let epoch = self.epoch("receive", epoch).await;
        if self.does_nothing("receive") {
            return Ok(batch.iter().map(|_| Receipt::New(Seq(epoch.first_number() + self.next_number()))).collect());
        }
        self.change_inputs(&mut batch);
        let mut receipts = self.inner.receive(epoch, batch).await?;
        if self.fault == Fault::ReversesReceipts {
            receipts.reverse();
        }
        Ok(receipts)
    }

    fn change_inputs(&self, batch: &mut [Incoming]) {
        for incoming in batch {
            incoming.body = self.cut(&incoming.body).into();
            incoming.key = self.key(&incoming.key);
            if let Origin::Update(mark) = &mut incoming.origin {
                mark.identity = match self.fault {
                    Fault::ForgetsWaitingMarks => format!("{} {}", mark.identity, self.next_number()).into(),
                    Fault::KnowsById => Box::default(),
                    _ => mark.identity.clone(),
                };
            }
        }
    }

    pub(super) async fn broken_deliver(&self, mut batch: Vec<Incoming>) -> StoreResult<Vec<Delivered>> {
        if self.does_nothing("deliver") {
            return Ok(batch.iter().map(|_| Delivered::First(Seq(self.next_number()))).collect());
        }
        if self.fault == Fault::DeliversUnderTheLease && self.inner.lease(batch[0].key.bot).await?.is_none() {
            return Err(StoreError::Unavailable("no instance holds the lease".into()));
        }
        self.change_inputs(&mut batch);
        let mut delivered = self.inner.deliver(batch).await?;
        for one in &mut delivered {
            match one {
                Delivered::Behind(seq) if self.fault == Fault::DeliversAsFirst => *one = Delivered::First(*seq),
                Delivered::First(seq) | Delivered::Behind(seq) => self.leftovers.lock().delivered.push(*seq),
                Delivered::Known => {}
            }
        }
        Ok(delivered)
    }

    pub(super) async fn broken_waiting(&self, bot: i64, after: Seq, limit: usize) -> StoreResult<Vec<InboxRow>> {
        let bot = if self.fault == Fault::MixesBots { self.inner.operator().bots().await?[0] } else { bot };
        let (after, limit) = (self.after("waiting", after), self.limit("waiting", limit));
        let mut rows = self.inner.waiting(bot, after, limit).await?;
        rows.retain(|row| !self.leftovers.lock().rows_taken.contains(&row.seq));
        Ok(self.order("waiting", rows))
    }

    pub(super) async fn broken_waiting_for(
        &self,
        key: &ConversationKey,
        after: Seq,
        limit: usize,
    ) -> StoreResult<Vec<InboxRow>> {
        let (after, limit) = (self.after("waiting_for", after), self.limit("waiting_for", limit));
        if self.fault == Fault::MixesConversations {
            return self.inner.waiting(key.bot, after, limit).await;
        }
        let mut rows = self.inner.waiting_for(&self.key(key), after, limit).await?;
        if self.fault == Fault::DeliversBefore {
            // A stable order: delivered inputs first.
            rows.sort_by_key(|row| !self.leftovers.lock().delivered.contains(&row.seq));
        }
        Ok(self.order("waiting_for", rows))
    }

    pub(super) fn broken_mark(&self, mark: &Mark) -> Mark {
        let mut mark = mark.clone();
        if self.fault == Fault::KnowsById {
            mark.identity = Box::default();
        }
        mark
    }

    pub(super) async fn broken_park(
        &self,
        epoch: Epoch,
        taken: Vec<InputRef>,
        parked: ParkedTurn,
        mut outgoing: Vec<Outgoing>,
    ) -> StoreResult<ParkResult> {
        let epoch = self.epoch("park", epoch).await;
        let taken = if self.fault == Fault::ParksWithoutTaking { Vec::new() } else { taken };
        if self.fault == Fault::ParksSilently {
            outgoing.clear();
        }
        match self.inner.park(epoch, taken, parked.clone(), outgoing.clone()).await {
            Err(StoreError::AlreadyProcessed) if self.fault == Fault::ParksTwice => {
                self.inner.park(epoch, Vec::new(), parked, outgoing).await
            }
            Err(StoreError::AlreadyProcessed) if self.fault == Fault::SaysWithoutParking => {
                let said = outgoing.into_iter().map(|outgoing| (parked.key.clone(), outgoing)).collect();
                self.inner.post(epoch, "said all the same", said, parked.at).await?;
                Err(StoreError::AlreadyProcessed)
            }
            answer => answer,
        }
    }

    pub(super) async fn broken_finish(
        &self,
        epoch: Epoch,
        effect: EffectId,
        outcome: Incoming,
    ) -> StoreResult<Receipt> {
        let epoch = self.epoch("finish_effect", epoch).await;
        if self.fault == Fault::KeepsFinishedEffects {
            return Ok(self.inner.receive(epoch, vec![outcome]).await?[0]);
        }
        let receipt = self.inner.finish_effect(epoch, effect, outcome).await?;
        // The effect is gone, and so is its outcome.
        if let (true, Receipt::New(seq)) = (self.does_nothing("finish_effect"), receipt) {
            self.leftovers.lock().rows_taken.push(seq);
        }
        Ok(receipt)
    }

    /// A store whose file vanished with the process. It has only its lease.
    pub async fn forgetful(holder: &opora::store::Holder, bot: i64) -> Self {
        let store = Self::new(Fault::Nothing);
        let granted = store.inner.claim(bot, holder, None).await.unwrap();
        assert!(matches!(granted, LeaseAnswer::Granted(_)));
        store
    }
}
