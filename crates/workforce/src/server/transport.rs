//! A socket with a timeout for every wait.
//!
//! The [`Phase`] of the connection decides the timeout. [`super::bodies`] measures the waits for bodies.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use super::Timeouts;
use super::admission::{ConnectionSlot, Phase};
use super::tally::{Event, Tally};

#[derive(Debug)]
pub(super) struct Transport {
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
    timeouts: Timeouts,
    tally: Arc<Tally>,
    read_timer: LazyTimer,
    write_timer: LazyTimer,
    /// Since when the client has read nothing of the pending data.
    blocked_since: Option<Instant>,
}

/// A timer that is allocated only when needed.
#[derive(Debug, Default)]
pub(super) struct LazyTimer(Option<Pin<Box<Sleep>>>);

impl LazyTimer {
    /// Ready after the deadline.
    pub(super) fn poll_until(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        let sleep = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }
}

impl Transport {
    pub(super) fn new(stream: TcpStream, slot: Arc<ConnectionSlot>, timeouts: Timeouts, tally: Arc<Tally>) -> Self {
        let (read_timer, write_timer) = (LazyTimer::default(), LazyTimer::default());
        Self { stream, slot, timeouts, tally, read_timer, write_timer, blocked_since: None }
    }

    fn read_deadline(&self) -> Option<(Instant, Event)> {
        let Timeouts { head, keep_alive, socket, .. } = self.timeouts;
        match self.slot.phase() {
            Phase::New(since) | Phase::Head(since) => Some((since + head, Event::SlowHead)),
            // The usual end of a connection; not logged.
            Phase::Idle(since) => Some((since + keep_alive, Event::Expected)),
            Phase::Upgraded(received) => Some((received + socket, Event::SilentSocket)),
            Phase::Body(_) | Phase::Busy => None,
        }
    }

    fn poll_write_timer(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let since = *self.blocked_since.get_or_insert_with(Instant::now);
        ready!(self.write_timer.poll_until(since + self.timeouts.write, context));
        self.tally.count(Event::UnreadResponse);
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }

    /// Passes the outcome of a write on, or fails after a timeout.
    fn with_write_timeout(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_pending() {
            return self.poll_write_timer(context).map(Err);
        }
        self.blocked_since = None;
        written
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            if buffer.filled().len() > before {
                self.slot.received();
            }
            return read;
        }
        let Some((deadline, event)) = self.read_deadline() else { return Poll::Pending };
        ready!(self.read_timer.poll_until(deadline, context));
        self.tally.count(event);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.with_write_timeout(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.with_write_timeout(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
