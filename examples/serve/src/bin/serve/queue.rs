// SPDX-License-Identifier: Apache-2.0
//! Requests on their way to the engine: a bounded queue between the threads of HTTP and the one that owns the model.
use crate::api::Refusal;
use model::step::Sampling;
use std::collections::VecDeque;
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
    Failed(Refusal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Full,
    Closed,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    active: usize, // jobs that the engine works on
    closed: bool,
    cancelled: bool,
}

pub struct Queue {
    room: usize,
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    /// A queue for so many jobs, those that are worked on among them.
    pub fn new(room: usize) -> Queue {
        Queue { room, state: Mutex::default(), changed: Condvar::new() }
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
        if state.active + state.waiting.len() >= self.room {
            return Err(Refused::Full);
        }
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    /// Takes the next job, beside so many that are worked on. None if there is none; where nothing is worked on, waits
    /// for one until the queue is closed.
    pub fn take(&self, active: usize) -> Option<Job> {
        let mut state = self.state();
        state.active = active;
        while active == 0 && state.waiting.is_empty() && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let job = state.waiting.pop_front();
        state.active += usize::from(job.is_some());
        job
    }

    /// Says how many jobs are worked on, where no more can be.
    pub fn working(&self, active: usize) {
        self.state().active = active;
    }

    /// How many jobs are worked on, and how many wait.
    pub fn count(&self) -> (usize, usize) {
        let state = self.state();
        (state.active, state.waiting.len())
    }

    /// Takes no more jobs; those that wait are still done.
    pub fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    /// Gives up also what waits and what runs.
    pub fn cancel(&self, why: &Refusal) {
        let mut state = self.state();
        (state.closed, state.cancelled) = (true, true);
        for job in state.waiting.drain(..) {
            let _ = job.events.send(Event::Failed(why.clone())); // who has gone needs no answer
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
        let (jobs, _receivers): (Vec<_>, Vec<_>) = (0..4).map(job).unzip();
        let mut outcomes = jobs.into_iter().map(|job| queue.submit(job));
        assert_eq!([outcomes.next(), outcomes.next()], [Some(Ok(())); 2]);
        assert_eq!(queue.take(0).unwrap().prompt, [0]);
        assert_eq!(outcomes.next(), Some(Err(Refused::Full)), "one is worked on, one waits");
        assert_eq!((queue.take(1).unwrap().prompt, queue.count()), (vec![1], (2, 0)));
        queue.working(1);
        assert_eq!((outcomes.next(), queue.count()), (Some(Ok(())), (1, 1)));
    }

    #[test]
    fn who_has_gone_takes_no_place() {
        let queue = Queue::new(1);
        let ((first, receiver), (second, _still_here)) = (job(0), job(1));
        queue.submit(first).unwrap();
        drop(receiver);
        assert_eq!(queue.count(), (0, 0));
        queue.submit(second).unwrap();
        assert_eq!(queue.take(0).unwrap().prompt, [1]);
    }

    #[test]
    fn closed_it_gives_what_waits_and_takes_nothing() {
        let queue = Queue::new(1);
        let ((first, _receiver), (second, _other)) = (job(0), job(1));
        queue.submit(first).unwrap();
        queue.close();
        assert_eq!(queue.submit(second), Err(Refused::Closed));
        assert!(queue.take(0).is_some());
        assert!(queue.take(0).is_none());
    }

    #[test]
    fn cancelled_it_tells_those_who_wait() {
        let queue = Queue::new(1);
        let (first, mut receiver) = job(0);
        queue.submit(first).unwrap();
        queue.cancel(&Refusal::new(503, None, "over"));
        assert!(matches!(receiver.try_recv(), Ok(Event::Failed(why)) if why.message == "over"));
        assert!(queue.is_cancelled() && queue.take(0).is_none());
    }
}
