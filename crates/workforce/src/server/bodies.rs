//! Request and response bodies.
//!
//! A request body must arrive in time, between two pieces and as a whole. When a response body is written, its
//! connection becomes idle.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::Instant;

use super::Timeouts;
use super::admission::{ConnectionSlot, Phase};
use super::tally::{Event, Tally};
use super::transport::LazyTimer;

/// The body of a request.
#[derive(Debug)]
pub(super) struct RequestBody {
    body: Incoming,
    slot: Arc<ConnectionSlot>,
    timeouts: Timeouts,
    tally: Arc<Tally>,
    timer: LazyTimer,
    began: Instant,
    waits_since: Option<Instant>,
}

/// The error of a body that arrives too slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request body did not arrive in time")]
pub(super) struct TooSlow;

impl RequestBody {
    pub(super) fn new(body: Incoming, slot: Arc<ConnectionSlot>, timeouts: Timeouts, tally: Arc<Tally>) -> Self {
        Self { body, slot, timeouts, tally, timer: LazyTimer::default(), began: Instant::now(), waits_since: None }
    }

    fn wait(&mut self, context: &mut Context<'_>) -> Poll<TooSlow> {
        let since = *self.waits_since.get_or_insert_with(|| {
            let phase = Phase::body();
            self.slot.enter(phase);
            Instant::now()
        });
        let deadline = (since + self.timeouts.body_idle).min(self.began + self.timeouts.body_total);
        self.timer.poll_until(deadline, context).map(|()| {
            self.tally.count(Event::SlowBody);
            TooSlow
        })
    }
}

impl hyper::body::Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() {
            let too_slow = self.wait(context);
            if too_slow.is_ready() {
                self.slot.enter(Phase::Busy);
            }
            return too_slow.map(|error| Some(Err(error.into())));
        }
        if self.waits_since.take().is_some() {
            self.slot.enter(Phase::Busy);
        }
        frame.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response.
#[derive(Debug)]
pub(super) struct ResponseBody {
    body: Body,
    /// None for a protocol upgrade.
    slot: Option<Arc<ConnectionSlot>>,
}

impl ResponseBody {
    pub(super) fn new(body: Body, slot: Option<Arc<ConnectionSlot>>) -> Self {
        Self { body, slot }
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The server drops the body when all of it is written or buffered.
impl Drop for ResponseBody {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            slot.enter(Phase::idle());
        }
    }
}
