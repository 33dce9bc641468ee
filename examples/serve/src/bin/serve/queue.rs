// SPDX-License-Identifier: Apache-2.0
//! Requests on their way to the engine: a bounded queue between the threads of HTTP and the one that owns the model.
use model::step::Sampling;
use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// What a request wants. Whoever asked has gone when `events` is closed.
pub struct Job {
    pub prompt: Vec<u32>,
    pub max_tokens: usize,
    pub sampling: Sampling,
    pub stops: Vec<String>,
    pub events: UnboundedSender<Event>,
}

/// What the engine tells about a job; End or Failed comes last. There are at most as many as a context has tokens.
pub enum Event {
    Text(String),
    End { reason: &'static str, tokens: usize },
    Failed(String),
}

#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    Full,
    Closed,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    closed: bool,
    cancelled: bool,
}

pub struct Queue {
    room: usize,
    state: Mutex<State>,
    changed: Condvar,
    /// Jobs that the engine works on.
    pub active: AtomicUsize,
}

impl Queue {
    /// A queue in which so many may wait.
    pub fn new(room: usize) -> Queue {
        Queue { room, state: Mutex::default(), changed: Condvar::new(), active: AtomicUsize::new(0) }
    }

    /// The state without those who have gone: they take no one's place.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.retain(|job| !job.events.is_closed());
        state
    }

    pub fn submit(&self, job: Job) -> Result<(), Refused> {
        let mut state = self.state();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.waiting.len() >= self.room {
            return Err(Refused::Full);
        }
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    /// The next job. None if there is none: at once, or with `wait` when the queue is closed.
    pub fn take(&self, wait: bool) -> Option<Job> {
        let mut state = self.state();
        while wait && state.waiting.is_empty() && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.pop_front()
    }

    pub fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Takes no more jobs; those that wait are still done.
    pub fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    /// Gives up also what waits and what runs.
    pub fn cancel(&self, why: &str) {
        let mut state = self.state();
        (state.closed, state.cancelled) = (true, true);
        for job in state.waiting.drain(..) {
            let _ = job.events.send(Event::Failed(why.to_owned())); // who has gone needs no answer
        }
        self.changed.notify_all();
    }

    pub fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

    fn job(token: u32) -> (Job, UnboundedReceiver<Event>) {
        let (events, receiver) = unbounded_channel();
        let sampling = Sampling::default();
        (Job { prompt: vec![token], max_tokens: 1, sampling, stops: Vec::new(), events }, receiver)
    }

    #[test]
    fn jobs_come_in_order_and_no_more_than_there_is_room_for() {
        let queue = Queue::new(2);
        let (jobs, _receivers): (Vec<_>, Vec<_>) = (0..3).map(job).unzip();
        let outcomes: Vec<_> = jobs.into_iter().map(|job| queue.submit(job)).collect();
        assert_eq!(outcomes, [Ok(()), Ok(()), Err(Refused::Full)]);
        assert_eq!([queue.take(false), queue.take(true)].map(|job| job.unwrap().prompt[0]), [0, 1]);
        assert!(queue.take(false).is_none());
    }

    #[test]
    fn who_has_gone_takes_no_place() {
        let queue = Queue::new(1);
        let ((first, receiver), (second, _still_here)) = (job(0), job(1));
        queue.submit(first).unwrap();
        drop(receiver);
        assert_eq!(queue.waiting(), 0);
        queue.submit(second).unwrap();
        assert_eq!(queue.take(false).unwrap().prompt, [1]);
    }

    #[test]
    fn closed_it_gives_what_waits_and_takes_nothing() {
        let queue = Queue::new(1);
        let ((first, _receiver), (second, _other)) = (job(0), job(1));
        queue.submit(first).unwrap();
        queue.close();
        assert_eq!(queue.submit(second), Err(Refused::Closed));
        assert!(queue.take(true).is_some());
        assert!(queue.take(true).is_none());
    }

    #[test]
    fn cancelled_it_tells_those_who_wait() {
        let queue = Queue::new(1);
        let (first, mut receiver) = job(0);
        queue.submit(first).unwrap();
        queue.cancel("over");
        assert!(matches!(receiver.try_recv(), Ok(Event::Failed(why)) if why == "over"));
        assert!(queue.is_cancelled() && queue.take(true).is_none());
    }
}
