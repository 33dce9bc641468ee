// SPDX-License-Identifier: Apache-2.0
//! A connection whose client has to take what is written for it within a time.
use std::future::Future;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{sleep, Sleep};

pub struct Patient<S> {
    stream: S,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>, // since a write could not go on
}

impl<S: AsyncRead + AsyncWrite + Unpin> Patient<S> {
    pub fn new(stream: S, patience: Duration) -> Patient<S> {
        Patient { stream, patience, stalled: None }
    }

    /// What a write gives, or an error where writes have given nothing for too long.
    fn judge<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<Result<T>>) -> Poll<Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        ready!(self.stalled.get_or_insert_with(|| Box::pin(sleep(self.patience))).as_mut().poll(cx));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.judge(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(cx, outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{duplex, AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn who_reads_gets_everything_however_slowly() {
        let (near, mut far) = duplex(4);
        let mut near = Patient::new(near, Duration::from_millis(200));
        let writing = tokio::spawn(async move { near.write_all(&[7; 40]).await });
        for _ in 0..10 {
            sleep(Duration::from_millis(30)).await;
            far.read_exact(&mut [0; 4]).await.unwrap();
        }
        writing.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn who_does_not_read_is_given_up() {
        let (near, _far) = duplex(4);
        let mut near = Patient::new(near, Duration::from_millis(20));
        assert_eq!(near.write_all(&[7; 40]).await.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
