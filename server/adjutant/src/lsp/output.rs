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
}

impl OutputLevel {
    pub(crate) fn unread_bytes(&self) -> u64 {
        let taken = self.shared.taken.load(Ordering::Acquire);
        self.shared.written.load(Ordering::Acquire).saturating_sub(taken)
    }

    pub(crate) fn is_congested(&self) -> bool {
        self.unread_bytes() > CONGESTED_BYTES
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
    (Buffered { pipe, level: level.clone() }, level, pump)
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
            self.level.shared.written.fetch_add(*count as u64, Ordering::AcqRel);
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
}
