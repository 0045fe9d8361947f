//! To whom an operation is put.
//!
//! What belongs to one chat goes to one writer, so its order is kept. Leases and the operator go to the desk. Where one
//! connection writes, it is all of them.

use std::hash::{DefaultHasher, Hash, Hasher};

use futures_util::future::{join_all, try_join_all};
use tokio::sync::{mpsc, oneshot};

use super::failure::closed;
use super::operation::{Alone, Operation, Reply, Request};
use crate::key::DialogueKey;
use crate::store::{Incoming, StoreResult};

/// The queues before the writers.
#[derive(Debug)]
pub(in crate::store) struct Writers {
    /// What belongs to a chat; there is at least one.
    chats: Vec<mpsc::Sender<Request>>,
    /// Leases and the operator. Where it is a writer of its own, nothing of the application runs there: the renewal of a
    /// lease must not wait for it.
    desk: mpsc::Sender<Request>,
}

/// A part of a batch, and where its receipts belong.
type Part = (Vec<usize>, Vec<Incoming>);

impl Writers {
    /// One for everything.
    pub(in crate::store) fn one(writer: mpsc::Sender<Request>) -> Self {
        Self { chats: vec![writer.clone()], desk: writer }
    }

    /// Several, and the desk.
    pub(in crate::store) fn several(
        first: mpsc::Sender<Request>,
        more: impl IntoIterator<Item = mpsc::Sender<Request>>,
        desk: mpsc::Sender<Request>,
    ) -> Self {
        Self { chats: std::iter::once(first).chain(more).collect(), desk }
    }

    /// Asks for what belongs to a chat and waits until the answer is durable.
    pub(super) async fn of_chat<T>(
        &self,
        key: &DialogueKey,
        operation: impl FnOnce(Reply<T>) -> Operation,
    ) -> StoreResult<T> {
        ask(&self.chats[self.place_of(key)], |reply| Request::Grouped(operation(reply))).await
    }

    /// Asks for what may be written with anybody's turns: a group of them costs little more with it.
    pub(super) async fn with_turns<T>(&self, operation: impl FnOnce(Reply<T>) -> Operation) -> StoreResult<T> {
        ask(&self.chats[0], |reply| Request::Grouped(operation(reply))).await
    }

    /// Asks for what belongs to no chat.
    pub(super) async fn at_desk<T>(&self, operation: impl FnOnce(Reply<T>) -> Operation) -> StoreResult<T> {
        ask(&self.desk, |reply| Request::Grouped(operation(reply))).await
    }

    /// Asks for what is carried out alone.
    pub(super) async fn alone<T>(&self, alone: impl FnOnce(Reply<T>) -> Alone) -> StoreResult<T> {
        ask(&self.desk, |reply| Request::Alone(alone(reply))).await
    }

    /// Each writer takes what belongs to its chats. If one of them fails, the batch fails: what others have taken is
    /// `known` when it comes again.
    pub(super) async fn by_chat<T: Clone>(
        &self,
        batch: Vec<Incoming>,
        known: T,
        operation: impl Fn(Vec<Incoming>, Reply<Vec<T>>) -> Operation,
    ) -> StoreResult<Vec<T>> {
        // Of an empty batch the lease is checked all the same.
        if let ([writer], _) | ([writer, ..], []) = (&*self.chats, &*batch) {
            return ask(writer, |reply| Request::Grouped(operation(batch, reply))).await;
        }
        let (mut receipts, operation) = (vec![known; batch.len()], &operation);
        let asked = self.chats.iter().zip(self.parts(batch)).filter(|(_, (places, _))| !places.is_empty());
        let taken = asked.map(|(writer, (places, batch))| async move {
            let request = |reply| Request::Grouped(operation(batch, reply));
            ask(writer, request).await.map(|receipts| (places, receipts))
        });
        for (places, part) in try_join_all(taken).await? {
            places.into_iter().zip(part).for_each(|(place, receipt)| receipts[place] = receipt);
        }
        Ok(receipts)
    }

    /// Ends them once they have done what they were asked before.
    pub(super) async fn close(&self) -> StoreResult<()> {
        let desk = Some(&self.desk).filter(|desk| !desk.same_channel(&self.chats[0]));
        let open = self.chats.iter().chain(desk).filter(|writer| !writer.is_closed());
        join_all(open.map(|writer| ask(writer, Request::Close))).await.into_iter().collect()
    }

    fn parts(&self, batch: Vec<Incoming>) -> Vec<Part> {
        let mut parts: Vec<Part> = vec![Default::default(); self.chats.len()];
        for (place, incoming) in batch.into_iter().enumerate() {
            let (places, part) = &mut parts[self.place_of(&incoming.key)];
            places.push(place);
            part.push(incoming);
        }
        parts
    }

    /// Whose it is to write what belongs to a chat.
    fn place_of(&self, key: &DialogueKey) -> usize {
        if self.chats.len() == 1 {
            return 0;
        }
        let mut hasher = DefaultHasher::new();
        (key.bot, key.chat).hash(&mut hasher);
        // There are few writers, so the remainder fits.
        usize::try_from(hasher.finish() % self.chats.len() as u64).unwrap_or_default()
    }
}

/// Asks a writer and waits until the answer is durable.
async fn ask<T>(writer: &mpsc::Sender<Request>, request: impl FnOnce(Reply<T>) -> Request) -> StoreResult<T> {
    let (reply, answer) = oneshot::channel();
    writer.send(request(reply)).await.map_err(|_| closed())?;
    answer.await.map_err(|_| closed())?
}
