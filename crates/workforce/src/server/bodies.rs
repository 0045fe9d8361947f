//! Bodies on their way in and out.
//!
//! What a request brings has to come in time: between two pieces, and as a whole. When an answer is out, its connection
//! is idle.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::Instant;

use super::Timeouts;
use super::admission::{Phase, Slot};
use super::tally::{Event, Tally};
use super::transport::Alarm;

/// The body of a request.
#[derive(Debug)]
pub(super) struct AskedBody {
    body: Incoming,
    slot: Arc<Slot>,
    timeouts: Timeouts,
    tally: Arc<Tally>,
    alarm: Alarm,
    began: Instant,
    waits_since: Option<Instant>,
}

/// Why a body is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body of the request did not come in time")]
pub(super) struct TooSlow;

impl AskedBody {
    pub(super) fn new(body: Incoming, slot: Arc<Slot>, timeouts: Timeouts, tally: Arc<Tally>) -> Self {
        Self { body, slot, timeouts, tally, alarm: Alarm::default(), began: Instant::now(), waits_since: None }
    }

    fn wait(&mut self, context: &mut Context<'_>) -> Poll<TooSlow> {
        let since = *self.waits_since.get_or_insert_with(|| {
            let phase = Phase::body();
            self.slot.enter(phase);
            Instant::now()
        });
        let deadline = (since + self.timeouts.body_idle).min(self.began + self.timeouts.body_total);
        self.alarm.poll_until(deadline, context).map(|()| {
            self.tally.count(Event::SlowBody);
            TooSlow
        })
    }
}

impl hyper::body::Body for AskedBody {
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

/// The body of an answer.
#[derive(Debug)]
pub(super) struct AnswerBody {
    body: Body,
    /// None for an answer that changes the protocol.
    slot: Option<Arc<Slot>>,
}

impl AnswerBody {
    pub(super) fn new(body: Body, slot: Option<Arc<Slot>>) -> Self {
        Self { body, slot }
    }
}

impl hyper::body::Body for AnswerBody {
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

/// The server drops it when all of it is written or in its buffer.
impl Drop for AnswerBody {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            slot.enter(Phase::idle());
        }
    }
}
