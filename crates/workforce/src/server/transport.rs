//! A socket on which no wait is without end.
//!
//! Which wait it is, and therefore how long it may take, is the [`Phase`] of the connection. Waits for bodies are
//! measured where they are read, in [`super::bodies`].

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use super::Timeouts;
use super::admission::{Phase, Slot};
use super::tally::{Event, Tally};

#[derive(Debug)]
pub(super) struct Transport {
    stream: TcpStream,
    slot: Arc<Slot>,
    timeouts: Timeouts,
    tally: Arc<Tally>,
    read_alarm: Alarm,
    write_alarm: Alarm,
    /// Since when the client has taken nothing of what is ready for it.
    blocked_since: Option<Instant>,
}

/// A timer that exists only once it was needed.
#[derive(Debug, Default)]
pub(super) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Ready once it is so late.
    pub(super) fn poll_until(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        let sleep = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }
}

impl Transport {
    pub(super) fn new(stream: TcpStream, slot: Arc<Slot>, timeouts: Timeouts, tally: Arc<Tally>) -> Self {
        let (read_alarm, write_alarm) = (Alarm::default(), Alarm::default());
        Self { stream, slot, timeouts, tally, read_alarm, write_alarm, blocked_since: None }
    }

    fn read_deadline(&self) -> Option<(Instant, Event)> {
        let Timeouts { head, keep_alive, socket, .. } = self.timeouts;
        match self.slot.phase() {
            Phase::New(since) | Phase::Head(since) => Some((since + head, Event::SlowHead)),
            // The usual end of a connection, of which there is nothing to tell.
            Phase::Idle(since) => Some((since + keep_alive, Event::Expected)),
            Phase::Upgraded(heard) => Some((heard + socket, Event::SilentSocket)),
            Phase::Body(_) | Phase::Busy => None,
        }
    }

    fn poll_write_alarm(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let since = *self.blocked_since.get_or_insert_with(Instant::now);
        ready!(self.write_alarm.poll_until(since + self.timeouts.write, context));
        self.tally.count(Event::UnreadAnswer);
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }

    /// Passes the outcome of a write on, unless it was waited for too long.
    fn timed(&mut self, written: Poll<io::Result<usize>>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if written.is_pending() {
            return self.poll_write_alarm(context).map(Err);
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
                self.slot.heard();
            }
            return read;
        }
        let Some((deadline, event)) = self.read_deadline() else { return Poll::Pending };
        ready!(self.read_alarm.poll_until(deadline, context));
        self.tally.count(event);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.timed(written, context)
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
