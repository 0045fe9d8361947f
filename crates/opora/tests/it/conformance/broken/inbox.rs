//! A spoilt inbox.

use opora::key::DialogueKey;
use opora::store::{
    Delivered, EffectId, Epoch, InboxRow, Incoming, LeaseAnswer, Mark, Origin, Outgoing, Parked, Receipt, Seq,
    SetAside, Store, StoreError, StoreResult, Taken,
};

use super::{Broken, Fault};

impl Broken {
    pub(super) async fn spoilt_receive(&self, epoch: Epoch, mut batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let epoch = self.epoch("receive", epoch).await;
        if self.only_confirms("receive") {
            return Ok(batch.iter().map(|_| Receipt::New(Seq(epoch.first_number() + self.fresh()))).collect());
        }
        self.spoil_inputs(&mut batch);
        let mut receipts = self.inner.receive(epoch, batch).await?;
        if self.how == Fault::ReversesReceipts {
            receipts.reverse();
        }
        Ok(receipts)
    }

    /// Updates as the spoilt store keeps them.
    fn spoil_inputs(&self, batch: &mut [Incoming]) {
        for incoming in batch {
            incoming.body = self.cut(&incoming.body).into();
            incoming.key = self.key(&incoming.key);
            if let Origin::Update(mark) = &mut incoming.origin {
                mark.identity = match self.how {
                    Fault::ForgetsWaitingMarks => format!("{} {}", mark.identity, self.fresh()).into(),
                    Fault::KnowsById => Box::default(),
                    _ => mark.identity.clone(),
                };
            }
        }
    }

    pub(super) async fn spoilt_deliver(&self, mut batch: Vec<Incoming>) -> StoreResult<Vec<Delivered>> {
        if self.only_confirms("deliver") {
            return Ok(batch.iter().map(|_| Delivered::First(Seq(self.fresh()))).collect());
        }
        if self.how == Fault::DeliversUnderTheLease && self.inner.lease(batch[0].key.bot).await?.is_none() {
            return Err(StoreError::Unavailable("nobody holds the lease".into()));
        }
        self.spoil_inputs(&mut batch);
        let mut delivered = self.inner.deliver(batch).await?;
        for one in &mut delivered {
            match one {
                Delivered::Behind(seq) if self.how == Fault::DeliversAsFirst => *one = Delivered::First(*seq),
                Delivered::First(seq) | Delivered::Behind(seq) => self.remains.lock().delivered.push(*seq),
                Delivered::Known => {}
            }
        }
        Ok(delivered)
    }

    pub(super) async fn spoilt_waiting(&self, bot: i64, after: Seq, limit: usize) -> StoreResult<Vec<InboxRow>> {
        let bot = if self.how == Fault::MixesBots { self.inner.operator().bots().await?[0] } else { bot };
        let (after, limit) = (self.after("waiting", after), self.limit("waiting", limit));
        let mut rows = self.inner.waiting(bot, after, limit).await?;
        rows.retain(|row| !self.remains.lock().rows_taken.contains(&row.seq));
        Ok(self.order("waiting", rows))
    }

    pub(super) async fn spoilt_waiting_for(
        &self,
        key: &DialogueKey,
        after: Seq,
        limit: usize,
    ) -> StoreResult<Vec<InboxRow>> {
        let (after, limit) = (self.after("waiting_for", after), self.limit("waiting_for", limit));
        if self.how == Fault::MixesConversations {
            return self.inner.waiting(key.bot, after, limit).await;
        }
        let mut rows = self.inner.waiting_for(&self.key(key), after, limit).await?;
        if self.how == Fault::DeliversBefore {
            // A stable order: those that were delivered, then the others.
            rows.sort_by_key(|row| !self.remains.lock().delivered.contains(&row.seq));
        }
        Ok(self.order("waiting_for", rows))
    }

    /// The mark as the spoilt store keeps it.
    pub(super) fn spoilt_mark(&self, mark: &Mark) -> Mark {
        let mut mark = mark.clone();
        if self.how == Fault::KnowsById {
            mark.identity = Box::default();
        }
        mark
    }

    pub(super) async fn spoilt_park(
        &self,
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Parked,
        mut outgoing: Vec<Outgoing>,
    ) -> StoreResult<SetAside> {
        let epoch = self.epoch("park", epoch).await;
        let taken = if self.how == Fault::ParksWithoutTaking { Vec::new() } else { taken };
        if self.how == Fault::ParksSilently {
            outgoing.clear();
        }
        match self.inner.park(epoch, taken, parked.clone(), outgoing.clone()).await {
            Err(StoreError::AlreadyTaken) if self.how == Fault::ParksTwice => {
                self.inner.park(epoch, Vec::new(), parked, outgoing).await
            }
            Err(StoreError::AlreadyTaken) if self.how == Fault::SaysWithoutParking => {
                let said = outgoing.into_iter().map(|outgoing| (parked.key.clone(), outgoing)).collect();
                self.inner.post(epoch, "said all the same", said, parked.at).await?;
                Err(StoreError::AlreadyTaken)
            }
            answer => answer,
        }
    }

    pub(super) async fn spoilt_finish(
        &self,
        epoch: Epoch,
        effect: EffectId,
        outcome: Incoming,
    ) -> StoreResult<Receipt> {
        let epoch = self.epoch("finish_effect", epoch).await;
        if self.how == Fault::KeepsFinishedEffects {
            return Ok(self.inner.receive(epoch, vec![outcome]).await?[0]);
        }
        let receipt = self.inner.finish_effect(epoch, effect, outcome).await?;
        // The effect is gone, and so is what became of it.
        if let (true, Receipt::New(seq)) = (self.only_confirms("finish_effect"), receipt) {
            self.remains.lock().rows_taken.push(seq);
        }
        Ok(receipt)
    }

    /// A store whose file vanished with the process; its lease is all that it has.
    pub async fn forgetful(holder: &opora::store::Holder, bot: i64) -> Self {
        let store = Self::new(Fault::Nothing);
        let granted = store.inner.claim(bot, holder, None).await.unwrap();
        assert!(matches!(granted, LeaseAnswer::Granted(_)));
        store
    }
}
