// SPDX-License-Identifier: Apache-2.0
//! What a request may cost before anything is known of it: bytes, time, and how many are looked at together.
use crate::api::Refusal;
use axum::extract::Request;
use axum::http::{header, HeaderMap};
use futures_util::stream::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Requests that are parsed and cut into tokens together.
const TURNS: usize = 2;
/// Bytes beyond the limit that are read and thrown away: who is still sending would not see why it is refused.
const DISCARDED: usize = 16 << 20;
/// Bytes of a body beside its prompt.
const BESIDE: usize = 64 << 10;
/// Bytes of a body for each byte of a prompt: a control character is six.
const ESCAPED: usize = 6;

pub struct Intake {
    most: usize,
    patience: Duration,
    turns: Arc<Semaphore>,
}

/// The bytes of the longest body that can ask for something.
pub fn longest_body(context: usize, longest_token: usize) -> usize {
    context.saturating_mul(longest_token).saturating_mul(ESCAPED).saturating_add(BESIDE)
}

impl Intake {
    /// Takes bodies of at most so many bytes, which come within a time.
    pub fn new(most: usize, patience: Duration) -> Intake {
        Intake { most, patience, turns: Arc::new(Semaphore::new(TURNS)) }
    }

    /// The body of a request.
    pub async fn read(&self, request: Request) -> Result<Vec<u8>, Refusal> {
        if !is_json(request.headers()) {
            return Err(Refusal::new(415, None, "the body has another Content-Type than application/json"));
        }
        let late = |_| Refusal::new(408, None, format!("the body took longer than {} s", self.patience.as_secs_f64()));
        timeout(self.patience, self.gather(request)).await.map_err(late)?
    }

    async fn gather(&self, request: Request) -> Result<Vec<u8>, Refusal> {
        let (mut pieces, mut body, mut length) = (request.into_body().into_data_stream(), Vec::new(), 0);
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| Refusal::new(400, None, format!("the body broke off: {error}")))?;
            length += piece.len();
            if length <= self.most {
                body.extend_from_slice(&piece);
            } else if length <= self.most.saturating_add(DISCARDED) {
                body = Vec::new();
            } else {
                break;
            }
        }
        if length > self.most {
            let message = format!("the body has more than {} bytes, which is what can be", self.most);
            return Err(Refusal::new(413, None, message));
        }
        Ok(body)
    }

    /// Waits until a body may be looked at.
    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        self.turns.clone().acquire_owned().await.ok() // it is never closed
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use futures_util::stream;

    fn request(body: Body) -> Request {
        Request::builder().header("content-type", "Application/JSON; charset=utf-8").body(body).unwrap()
    }

    #[tokio::test]
    async fn a_body_is_as_long_as_it_may_be() {
        let intake = Intake::new(5, Duration::from_secs(9));
        let read = async |text: &'static str| intake.read(request(Body::from(text))).await;
        assert_eq!(read("12345").await.unwrap(), b"12345");
        assert_eq!(read("123456").await.unwrap_err().status, 413);
        assert_eq!(intake.read(Request::new(Body::from("1"))).await.unwrap_err().status, 415);
    }

    #[tokio::test]
    async fn a_body_without_end_is_refused() {
        let piece = || Ok::<_, std::io::Error>(vec![0; 1 << 20]);
        let intake = Intake::new(5, Duration::from_secs(60));
        let endless = Body::from_stream(stream::repeat_with(piece));
        assert_eq!(intake.read(request(endless)).await.unwrap_err().status, 413);
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_is_refused() {
        let silent = Body::from_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>());
        let intake = Intake::new(5, Duration::from_millis(10));
        assert_eq!(intake.read(request(silent)).await.unwrap_err().status, 408);
    }
}
