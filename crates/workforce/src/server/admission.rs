//! Admits connections: limits in total and per address.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::tally::{Event, Tally};
use super::{LOCAL_SLOTS, Limits};
use crate::config::network_of;

/// All slots.
#[derive(Debug)]
pub(super) struct Admission {
    limits: Limits,
    occupied: Mutex<OccupiedSlots>,
}

#[derive(Debug, Default)]
struct OccupiedSlots {
    total: usize,
    by_address: HashMap<IpAddr, usize>,
    /// Connections that wait for the client, the longest waiting first.
    waiting: BTreeMap<(Instant, u64), Arc<SlotState>>,
    next_number: u64,
}

/// A slot as other connections see it.
#[derive(Debug)]
struct SlotState {
    /// None if the limit per address does not apply.
    address: Option<IpAddr>,
    evicted: CancellationToken,
    /// No longer counted, though it may still be closing.
    is_released: AtomicBool,
}

/// The slot of a connection; dropping it frees the slot.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    number: u64,
    state: Arc<SlotState>,
    admission: Arc<Admission>,
    phase: Mutex<Phase>,
}

/// The phase of a connection, and its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No request yet.
    New(Instant),
    /// The last response is complete.
    Idle(Instant),
    /// The head of a request has begun.
    Head(Instant),
    /// A handler waits for more of the body.
    Body(Instant),
    /// A request is being answered.
    Busy,
    /// A WebSocket, and the time of the last bytes.
    Upgraded(Instant),
}

impl Phase {
    pub(super) fn idle() -> Self {
        Self::Idle(Instant::now())
    }

    pub(super) fn body() -> Self {
        Self::Body(Instant::now())
    }

    pub(super) fn upgraded() -> Self {
        Self::Upgraded(Instant::now())
    }

    /// Since when the connection waits for the client; such a connection may be evicted.
    fn waits_since(self) -> Option<Instant> {
        match self {
            Self::New(since) | Self::Idle(since) | Self::Head(since) | Self::Body(since) => Some(since),
            Self::Busy | Self::Upgraded(_) => None,
        }
    }

    /// The phase after bytes arrived.
    fn received(self) -> Self {
        match self {
            Self::New(_) | Self::Idle(_) => Self::Head(Instant::now()),
            Self::Upgraded(_) => Self::upgraded(),
            Self::Head(_) | Self::Body(_) | Self::Busy => self,
        }
    }
}

impl Admission {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, occupied: Mutex::default() })
    }

    /// A slot for a connection from this address, or none.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr, tally: &Tally) -> Option<Arc<ConnectionSlot>> {
        let peer = peer.to_canonical();
        let address = (!self.limits.proxies.has(peer)).then(|| network_of(peer));
        let mut occupied = self.occupied.lock();
        let of_address = address.and_then(|address| occupied.by_address.get(&address)).copied().unwrap_or_default();
        if address.is_some() && of_address >= self.limits.per_address {
            tally.count(Event::AddressFull);
            return None;
        }
        if occupied.total >= self.limits.total {
            let has_local_place = peer.is_loopback() && occupied.total < self.limits.total + LOCAL_SLOTS;
            if occupied.evict() {
                tally.count(Event::Evicted);
            } else if !has_local_place {
                tally.count(Event::AllFull);
                return None;
            }
        }
        occupied.total += 1;
        if let Some(address) = address {
            *occupied.by_address.entry(address).or_default() += 1;
        }
        let number = occupied.next_number;
        occupied.next_number += 1;
        let state = SlotState { address, evicted: CancellationToken::new(), is_released: AtomicBool::new(false) };
        let (state, since) = (Arc::new(state), Instant::now());
        occupied.waiting.insert((since, number), Arc::clone(&state));
        Some(Arc::new(ConnectionSlot {
            number,
            state,
            admission: Arc::clone(self),
            phase: Mutex::new(Phase::New(since)),
        }))
    }
}

impl OccupiedSlots {
    /// Frees the slot of the connection that has kept the server waiting longest, if any.
    fn evict(&mut self) -> bool {
        let Some((_, state)) = self.waiting.pop_first() else { return false };
        state.evicted.cancel();
        self.release(&state);
        true
    }

    fn release(&mut self, state: &SlotState) {
        if state.is_released.swap(true, Ordering::Relaxed) {
            return;
        }
        self.total -= 1;
        let Some(address) = state.address else { return };
        if let Some(count) = self.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

impl ConnectionSlot {
    /// Cancelled when another connection gets this slot.
    pub(super) fn evicted(&self) -> CancellationToken {
        self.state.evicted.clone()
    }

    pub(super) fn phase(&self) -> Phase {
        *self.phase.lock()
    }

    /// Bytes arrived.
    pub(super) fn received(&self) {
        let phase = self.phase();
        let next = phase.received();
        if next != phase {
            self.enter(next);
        }
    }

    pub(super) fn enter(&self, next: Phase) {
        let mut phase = self.phase.lock();
        let (before, after) = (phase.waits_since(), next.waits_since());
        *phase = next;
        if before.is_none() && after.is_none() {
            return;
        }
        let mut occupied = self.admission.occupied.lock();
        let was_there = before.and_then(|since| occupied.waiting.remove(&(since, self.number)));
        // It waited but is gone from the map: it was evicted just now.
        let is_evicted = before.is_some() && was_there.is_none();
        if let Some(since) = after.filter(|_| !is_evicted) {
            occupied.waiting.insert((since, self.number), Arc::clone(&self.state));
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let waits_since = self.phase().waits_since();
        let mut occupied = self.admission.occupied.lock();
        if let Some(since) = waits_since {
            occupied.waiting.remove(&(since, self.number));
        }
        occupied.release(&self.state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(total: usize, per_address: usize, proxies: &str) -> Arc<Admission> {
        Admission::new(Limits { total, per_address, proxies: proxies.parse().unwrap() })
    }

    fn admit(admission: &Arc<Admission>, peer: &str) -> Option<Arc<ConnectionSlot>> {
        admission.admit(peer.parse().unwrap(), &Tally::default())
    }

    #[test]
    fn an_address_gets_its_share_and_no_more() {
        let places = admission(100, 2, "10.0.0.1");
        let held: Vec<_> = (0..2).filter_map(|_| admit(&places, "192.0.2.1")).collect();
        assert!(admit(&places, "192.0.2.1").is_none() && admit(&places, "::ffff:192.0.2.1").is_none());
        assert!(admit(&places, "192.0.2.2").is_some(), "another address has a share of its own");
        drop(held);
        assert!(admit(&places, "192.0.2.1").is_some(), "a closed connection gives its place back");
        let proxied: Vec<_> = (0..9).filter_map(|_| admit(&places, "10.0.0.1")).collect();
        assert_eq!(proxied.len(), 9, "a proxy asks for many");
    }

    #[test]
    fn ipv6_is_counted_by_its_network() {
        let places = admission(100, 1, "");
        let _held = admit(&places, "2001:db8::1").unwrap();
        assert!(admit(&places, "2001:db8::2:3").is_none());
        assert!(admit(&places, "2001:db8:0:1::1").is_some());
    }

    #[test]
    fn a_new_connection_evicts_the_longest_waiting() {
        let places = admission(3, 3, "");
        let held: Vec<_> = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|peer| admit(&places, peer).unwrap()).into();
        held[0].enter(Phase::Busy);
        held[1].enter(Phase::Busy);
        held[1].enter(Phase::idle());
        let fourth = admit(&places, "192.0.2.4").unwrap();
        let evicted: Vec<_> = held.iter().map(|slot| slot.evicted().is_cancelled()).collect();
        assert_eq!(evicted, [false, false, true], "the second has waited for less time than the third");
        held[2].enter(Phase::Busy);
        held[2].enter(Phase::idle());
        drop(held);
        assert_eq!(places.occupied.lock().total, 1, "an evicted place is counted once");
        assert!(!fourth.evicted().is_cancelled());
    }

    #[test]
    fn busy_connections_stay_and_localhost_gets_in() {
        let places = admission(2, 2, "");
        let held: Vec<_> = ["192.0.2.1", "192.0.2.2"].map(|peer| admit(&places, peer).unwrap()).into();
        held[0].enter(Phase::Busy);
        held[1].enter(Phase::upgraded());
        assert!(admit(&places, "192.0.2.3").is_none());
        assert!(admit(&places, "127.0.0.1").is_some());
        assert!(held.iter().all(|slot| !slot.evicted().is_cancelled()));
    }
}
