//! The way out to the client: a writer that never makes the LSP library wait for a client that has stopped reading.
//!
//! What is written goes into a buffer, and a pump empties it into the real stream. So the reader, and with it every
//! request and cancel, goes on while the client is slow. Only [`OutputLevel`] tells how far behind the client is; the
//! outbox looks at it and merges what it can.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::{io, pin::Pin};

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::Notify;

/// Past this many unread bytes even answers wait; a client this far behind is gone.
const BUFFER_BYTES: usize = 256 << 20;

/// Notifications are held back and merged while more than this is unread.
pub(crate) const CONGESTED_BYTES: u64 = 1 << 20;

/// How many bytes have been written for the client and not been taken by it.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputLevel {
    shared: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    written: AtomicU64,
    taken: AtomicU64,
    drained: Notify,
    /// Notifications and requests that were given to the library, and those of them that it has written.
    given: AtomicU64,
    sent: AtomicU64,
    moved_on: Notify,
}

impl OutputLevel {
    pub(crate) fn unread_bytes(&self) -> u64 {
        let taken = self.shared.taken.load(Ordering::Acquire);
        self.shared.written.load(Ordering::Acquire).saturating_sub(taken)
    }

    pub(crate) fn is_congested(&self) -> bool {
        self.unread_bytes() > CONGESTED_BYTES
    }

    /// Says that a notification or a request is being given to the library.
    pub(crate) fn giving(&self) {
        self.shared.given.fetch_add(1, Ordering::AcqRel);
    }

    /// Waits until all that was given to the library so far has been written. The library merges its messages and its
    /// answers from two queues, so only after this can an answer not overtake them.
    pub(crate) async fn all_sent(&self) {
        let given = self.shared.given.load(Ordering::Acquire);
        loop {
            let moved_on = self.shared.moved_on.notified();
            if self.shared.sent.load(Ordering::Acquire) >= given {
                return;
            }
            moved_on.await;
        }
    }

    /// Waits until the client has caught up.
    pub(crate) async fn relieved(&self) {
        loop {
            let drained = self.shared.drained.notified();
            if !self.is_congested() {
                return;
            }
            drained.await;
        }
    }
}

/// The library's side: takes everything at once.
#[derive(Debug)]
pub(super) struct Buffered {
    pipe: DuplexStream,
    level: OutputLevel,
    frames: FrameCounter,
}

/// Counts the frames with a method in a stream of bytes: those that are no answers.
#[derive(Debug, Default)]
struct FrameCounter {
    header: Vec<u8>,
    /// Bytes of the body that are still to come, and its beginning.
    body: usize,
    head: Vec<u8>,
}

/// How far into a body its kind shows: the library writes `jsonrpc` first.
const KIND_BYTES: usize = 32;

impl FrameCounter {
    /// Takes bytes as they are written; answers how many messages ended in them.
    fn feed(&mut self, mut bytes: &[u8]) -> u64 {
        let mut messages = 0;
        while !bytes.is_empty() {
            if self.body == 0 {
                self.header.push(bytes[0]);
                bytes = &bytes[1..];
                if self.header.ends_with(b"\r\n\r\n") {
                    let header = String::from_utf8_lossy(&self.header);
                    let length =
                        header.split_once(':').and_then(|(_, rest)| rest.lines().next()?.trim().parse().ok());
                    self.body = length.unwrap_or(0);
                    self.header.clear();
                    self.head.clear();
                }
                continue;
            }
            let taken = self.body.min(bytes.len());
            let wanted = KIND_BYTES.saturating_sub(self.head.len()).min(taken);
            self.head.extend_from_slice(&bytes[..wanted]);
            self.body -= taken;
            bytes = &bytes[taken..];
            if self.body == 0 && self.head.windows(8).any(|window| window == b"\"method\"") {
                messages += 1;
            }
        }
        messages
    }
}

/// Makes a buffered writer and the pump that empties it into `output`; the pump ends when the writer is dropped and all
/// is written, or when the client is gone.
pub(super) fn buffered<W>(output: W) -> (Buffered, OutputLevel, impl Future<Output = ()> + Send)
where
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (pipe, source) = tokio::io::duplex(BUFFER_BYTES);
    let level = OutputLevel::default();
    let pump = pump(source, output, level.clone());
    (Buffered { pipe, level: level.clone(), frames: FrameCounter::default() }, level, pump)
}

async fn pump<W: AsyncWrite + Unpin>(mut source: DuplexStream, mut output: W, level: OutputLevel) {
    let mut chunk = vec![0; 32 << 10];
    loop {
        let taken = match source.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(taken) => taken,
        };
        if output.write_all(&chunk[..taken]).await.is_err() || output.flush().await.is_err() {
            return;
        }
        level.shared.taken.fetch_add(taken as u64, Ordering::AcqRel);
        level.shared.drained.notify_waiters();
    }
}

impl AsyncWrite for Buffered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.pipe).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = &written {
            let messages = self.frames.feed(&bytes[..*count]);
            let shared = &self.level.shared;
            shared.written.fetch_add(*count as u64, Ordering::AcqRel);
            if messages > 0 {
                shared.sent.fetch_add(messages, Ordering::AcqRel);
                shared.moved_on.notify_waiters();
            }
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_does_not_read_delays_no_writer_and_is_noticed() {
        let (client, mut reader) = tokio::io::duplex(16);
        let (mut writer, level, pump) = buffered(client);
        let pump = tokio::spawn(pump);
        let flood = vec![b'x'; 3 << 20];
        writer.write_all(&flood).await.unwrap();
        assert!(level.is_congested());

        let reader = tokio::spawn(async move {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).await.unwrap();
            all.len()
        });
        level.relieved().await;
        drop(writer);
        pump.await.unwrap();
        assert_eq!(reader.await.unwrap(), flood.len());
        assert_eq!(level.unread_bytes(), 0);
    }

    #[test]
    fn messages_are_counted_and_answers_are_not_however_the_bytes_come() {
        let frame = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let stream = frame(r#"{"jsonrpc":"2.0","method":"x"}"#)
            + &frame(r#"{"jsonrpc":"2.0","result":{"a":"\"method\""},"id":1}"#)
            + &frame(r#"{"jsonrpc":"2.0","method":"y","params":{"long":"long long long long long"},"id":2}"#);
        for size in [1, 7, stream.len()] {
            let mut frames = FrameCounter::default();
            let counted: u64 = stream.as_bytes().chunks(size).map(|bytes| frames.feed(bytes)).sum();
            assert_eq!(counted, 2, "in pieces of {size}");
        }
    }
}
