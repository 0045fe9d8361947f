//! A store that stands before another one: it counts, delays, or spoils, and passes everything else on.
//!
//! A layer says what it does differently and nothing more. The methods of [`Store`] and [`OperatorStore`] are listed here
//! once, for all layers.

use std::path::Path;

use super::{
    Answer, Bounds, Cleaned, Commit, Committed, ConversationRow, Delivered, DomainWrites, EffectId, EffectRow, Epoch,
    FailedRow, Filter, Holder, InboxRow, Incoming, Lease, LeaseAnswer, Mark, News, Opened, OperatorStore, OutboxId,
    OutboxRow, Outgoing, Parked, ParkedId, Receipt, Seq, SetAside, Settled, Statistics, Store, Taken, TimerRow,
    TransitionRow,
};
use crate::clock::Millis;
use crate::key::DialogueKey;

/// Makes the trait of a layer, whose methods pass on, and both traits of a store for every layer.
macro_rules! layer {
    (
        values { $($value:ident ( $($value_argument:ident : $value_type:ty)? ) -> $value_answer:ty;)* }
        Store { $($name:ident ( $($argument:ident : $type:ty),* ) -> $answer:ty;)* }
        OperatorStore { $($op:ident ( $($op_argument:ident : $op_type:ty),* ) -> $op_answer:ty;)* }
    ) => {
        /// A store before another store. Only [`StoreLayer::inner`] has to be written; what else is written replaces
        /// what the store behind would do.
        ///
        /// Code that calls a layer imports [`Store`] and not this trait, for their methods have the same names.
        ///
        /// ```
        /// use std::sync::Arc;
        ///
        /// use opora::store::{Answer, Epoch, MemoryStore, Store, StoreError, StoreLayer};
        ///
        /// /// A store that is never renewed.
        /// #[derive(Debug)]
        /// struct Deaf(Arc<dyn Store>);
        ///
        /// impl StoreLayer for Deaf {
        ///     fn inner(&self) -> &dyn Store {
        ///         &*self.0
        ///     }
        ///
        ///     fn renew<'a>(&'a self, _bot: i64, _epoch: Epoch) -> Answer<'a, ()> {
        ///         Box::pin(async { Err(StoreError::Unavailable("deaf".into())) })
        ///     }
        /// }
        ///
        /// let store: Arc<dyn Store> = Arc::new(Deaf(Arc::new(MemoryStore::new())));
        /// assert!(store.describe().contains("memory"));
        /// ```
        pub trait StoreLayer: Send + Sync + std::fmt::Debug + 'static {
            /// The store behind.
            fn inner(&self) -> &dyn Store;

            /// Stands around every call: `method` is its name, `call` carries it out.
            fn around<'a, T: Send + 'a>(
                &'a self,
                method: &'static str,
                call: impl FnOnce() -> Answer<'a, T> + Send + 'a,
            ) -> Answer<'a, T> {
                let _ = method;
                call()
            }

            /// As [`Store::open_for_turn`]: by the store behind if that is shared with other programs, else by this
            /// layer's own `open`.
            fn open_for_turn<'a>(
                &'a self,
                epoch: Epoch,
                key: &'a DialogueKey,
                mark: Option<&'a Mark>,
                now: Millis,
            ) -> Answer<'a, Opened> {
                let inner = self.inner();
                if inner.is_shared_with_other_programs() {
                    inner.open_for_turn(epoch, key, mark, now)
                } else {
                    self.open(key, mark)
                }
            }

            $(
                #[doc = concat!("As [`Store::", stringify!($value), "`], by the store behind.")]
                fn $value(&self, $($value_argument: $value_type)?) -> $value_answer {
                    self.inner().$value($($value_argument)?)
                }
            )*

            $(
                #[doc = concat!("As [`Store::", stringify!($name), "`], by the store behind.")]
                fn $name<'a>(&'a self, $($argument: $type),*) -> Answer<'a, $answer> {
                    self.inner().$name($($argument),*)
                }
            )*

            $(
                #[doc = concat!("As [`OperatorStore::", stringify!($op), "`], by the store behind.")]
                fn $op<'a>(&'a self, $($op_argument: $op_type),*) -> Answer<'a, $op_answer> {
                    self.inner().operator().$op($($op_argument),*)
                }
            )*
        }

        impl<L: StoreLayer> Store for L {
            fn operator(&self) -> &dyn OperatorStore {
                self
            }

            fn open_for_turn<'a>(
                &'a self,
                epoch: Epoch,
                key: &'a DialogueKey,
                mark: Option<&'a Mark>,
                now: Millis,
            ) -> Answer<'a, Opened> {
                // A layer that counts or spoils calls takes it for an opening.
                self.around("open", move || StoreLayer::open_for_turn(self, epoch, key, mark, now))
            }

            $(
                fn $value(&self, $($value_argument: $value_type)?) -> $value_answer {
                    StoreLayer::$value(self, $($value_argument)?)
                }
            )*

            $(
                fn $name<'a>(&'a self, $($argument: $type),*) -> Answer<'a, $answer> {
                    self.around(stringify!($name), move || StoreLayer::$name(self, $($argument),*))
                }
            )*
        }

        impl<L: StoreLayer> OperatorStore for L {
            $(
                fn $op<'a>(&'a self, $($op_argument: $op_type),*) -> Answer<'a, $op_answer> {
                    self.around(stringify!($op), move || StoreLayer::$op(self, $($op_argument),*))
                }
            )*
        }
    };
}

layer! {
    values {
        describe() -> String;
        supports_multiple_instances() -> bool;
        why_only_leader_delivers() -> Option<&'static str>;
        is_shared_with_other_programs() -> bool;
        why_unusable_for_bots() -> Option<&'static str>;
        conversation_of(key: DialogueKey) -> DialogueKey;
    }
    Store {
        claim(bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> LeaseAnswer;
        renew(bot: i64, epoch: Epoch) -> ();
        release(bot: i64, epoch: Epoch) -> ();
        lease(bot: i64) -> Option<Lease>;
        lease_reclaim_requested(bot: i64) -> ();
        receive(epoch: Epoch, batch: Vec<Incoming>) -> Vec<Receipt>;
        waiting(bot: i64, after: Seq, limit: usize) -> Vec<InboxRow>;
        waiting_for(key: &'a DialogueKey, after: Seq, limit: usize) -> Vec<InboxRow>;
        deliver(batch: Vec<Incoming>) -> Vec<Delivered>;
        backlog(bot: i64, limit: usize) -> usize;
        announce(bot: i64, keys: Vec<DialogueKey>) -> ();
        listen(bot: i64) -> News;
        open(key: &'a DialogueKey, mark: Option<&'a Mark>) -> Opened;
        abandon_turn(epoch: Epoch, key: &'a DialogueKey) -> ();
        commit(epoch: Epoch, commit: Commit) -> Committed;
        park(epoch: Epoch, taken: Vec<Taken>, parked: Parked, outgoing: Vec<Outgoing>) -> SetAside;
        write(writes: DomainWrites) -> ();
        unsent(bot: i64, after: OutboxId, limit: usize) -> Vec<OutboxRow>;
        sending(epoch: Epoch, ids: Vec<OutboxId>) -> ();
        not_sent(epoch: Epoch, ids: Vec<OutboxId>) -> ();
        log_sent(epoch: Epoch, settled: &'a [Settled]) -> ();
        settle(epoch: Epoch, settled: Vec<Settled>, at: Millis) -> ();
        post(epoch: Epoch, once: &'a str, outgoing: Vec<(DialogueKey, Outgoing)>, at: Millis) -> Vec<OutboxId>;
        labelled(bot: i64, chat: i64, label: &'a str) -> Option<i64>;
        effects(bot: i64, after: EffectId, limit: usize) -> Vec<EffectRow>;
        finish_effect(epoch: Epoch, effect: EffectId, outcome: Incoming) -> Receipt;
        due_timers(bot: i64, now: Millis, limit: usize) -> Vec<TimerRow>;
        expired(bot: i64, now: Millis, limit: usize) -> Vec<DialogueKey>;
        next_due(bot: i64) -> Option<Millis>;
        clean(epoch: Epoch, bounds: Bounds) -> Cleaned;
        list(filter: &'a Filter, after: Option<&'a DialogueKey>, limit: usize) -> Vec<ConversationRow>;
        forget(bot: i64, user: i64, now: Millis) -> u64;
        statistics(bot: Option<i64>) -> Statistics;
        parked(bot: Option<i64>, limit: usize) -> Vec<Parked>;
        parked_to_retry(bot: i64, limit: usize) -> Vec<Parked>;
        drop_parked(id: ParkedId) -> bool;
        close() -> ();
    }
    OperatorStore {
        clear_lease(bot: i64) -> ();
        reset(key: &'a DialogueKey, now: Millis) -> bool;
        import(row: &'a ConversationRow, replace: bool) -> bool;
        bots() -> Vec<i64>;
        failed(bot: i64, after: Option<(Millis, OutboxId)>, limit: usize) -> Vec<FailedRow>;
        parked_one(id: ParkedId) -> Option<Parked>;
        retry_parked(id: ParkedId) -> bool;
        transitions(bot: i64, after: i64, limit: usize) -> Vec<TransitionRow>;
        transitions_of(key: &'a DialogueKey, after: i64, limit: usize) -> Vec<TransitionRow>;
        backup(to: &'a Path) -> ();
        tidy(is_dry_run: bool) -> Vec<String>;
    }
}
