// SPDX-License-Identifier: Apache-2.0
//! Requests on their way to the engine: a bounded queue between the threads of HTTP and the one that owns the model. A
//! request has its place before its body is looked at, and until the engine is done with it.
use crate::api::Refusal;
use crate::connections::Working;
use model::step::Sampling;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One of the places of a queue; free again when it goes.
pub struct Place {
    _permit: OwnedSemaphorePermit,
    _working: Option<Working>,
}

/// What a request wants. Whoever asked has gone when `events` is closed.
pub struct Job {
    pub prompt: Vec<u32>,
    pub max_tokens: usize,
    pub sampling: Sampling,
    pub stops: Vec<String>,
    pub events: UnboundedSender<Event>,
    pub _place: Place, // until the job is done
}

/// What the engine tells about a job; End or Failed comes last. There are at most as many as a context has tokens.
pub enum Event {
    Text(String),
    End { reason: &'static str, tokens: usize, cached: usize },
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
    places: Arc<Semaphore>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    /// A queue for so many jobs, those that are worked on among them.
    pub fn new(room: usize) -> Queue {
        Queue { places: Arc::new(Semaphore::new(room)), state: Mutex::default(), changed: Condvar::new() }
    }

    /// The state without those who have gone: they take no one's place.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.retain(|job| !job.events.is_closed());
        state
    }

    /// A place for a job, whose connection works as long as that is taken.
    pub fn reserve(&self, work: impl FnOnce() -> Option<Working>) -> Result<Place, Refused> {
        if self.state().closed {
            return Err(Refused::Closed);
        }
        let permit = self.places.clone().try_acquire_owned().map_err(|_| Refused::Full)?;
        Ok(Place { _permit: permit, _working: work() })
    }

    /// Takes a job, unless the queue has been closed since it got its place.
    pub fn submit(&self, job: Job) -> Result<(), Refused> {
        let mut state = self.state();
        if state.closed {
            return Err(Refused::Closed);
        }
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    /// Takes the next job, beside so many that are worked on, if it can have what it claims. None if there is none, or
    /// not for it: then nothing behind it is taken either. Where nothing is worked on, waits for one until the queue is
    /// closed.
    pub fn take<T>(&self, active: usize, claim: impl FnOnce(&Job) -> Option<T>) -> Option<(Job, T)> {
        let mut state = self.state();
        state.active = active;
        while active == 0 && state.waiting.is_empty() && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let claimed = claim(state.waiting.front()?)?;
        state.active += 1;
        Some((state.waiting.pop_front()?, claimed))
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

    fn take(queue: &Queue, active: usize) -> Option<Job> {
        queue.take(active, |_| Some(())).map(|(job, ())| job)
    }

    fn submit(queue: &Queue, token: u32) -> Result<UnboundedReceiver<Event>, Refused> {
        let (events, receiver) = unbounded_channel();
        let (sampling, place) = (Sampling::default(), queue.reserve(|| None)?);
        queue.submit(Job { prompt: vec![token], max_tokens: 1, sampling, stops: Vec::new(), events, _place: place })?;
        Ok(receiver)
    }

    #[test]
    fn jobs_come_in_order_and_no_more_than_there_is_room_for() {
        let queue = Queue::new(2);
        let _receivers = [submit(&queue, 0).unwrap(), submit(&queue, 1).unwrap()];
        let first = take(&queue, 0).unwrap();
        assert_eq!(first.prompt, [0]);
        assert_eq!(submit(&queue, 2).err(), Some(Refused::Full), "one is worked on, one waits");
        assert_eq!((take(&queue, 1).unwrap().prompt, queue.count()), (vec![1], (2, 0)), "and is done");
        queue.working(1);
        let _receiver = submit(&queue, 3).unwrap();
        assert_eq!(queue.count(), (1, 1));
        drop(first);
    }

    #[test]
    fn a_place_is_taken_before_there_is_a_job() {
        let queue = Queue::new(1);
        let place = queue.reserve(|| None).unwrap();
        assert_eq!((submit(&queue, 0).err(), queue.count()), (Some(Refused::Full), (0, 0)));
        drop(place);
        assert!(submit(&queue, 0).is_ok());
    }

    #[test]
    fn who_has_gone_takes_no_place() {
        let queue = Queue::new(1);
        drop(submit(&queue, 0).unwrap());
        assert_eq!(queue.count(), (0, 0));
        drop(submit(&queue, 1).unwrap());
        let _still_here = submit(&queue, 2).unwrap();
        assert_eq!(take(&queue, 0).unwrap().prompt, [2]);
    }

    #[test]
    fn a_job_that_cannot_have_what_it_claims_stays_the_next() {
        let queue = Queue::new(2);
        let _receivers = [submit(&queue, 0).unwrap(), submit(&queue, 1).unwrap()];
        assert!(queue.take(1, |_| None::<()>).is_none());
        assert_eq!(queue.count(), (1, 2));
        assert_eq!(
            queue.take(1, |job| Some(job.prompt[0])).map(|(job, first)| (job.prompt, first)),
            Some((vec![0], 0))
        );
    }

    #[test]
    fn closed_it_gives_what_waits_and_takes_nothing() {
        let queue = Queue::new(2);
        let _receiver = submit(&queue, 0).unwrap();
        queue.close();
        assert_eq!(submit(&queue, 1).err(), Some(Refused::Closed));
        assert!(take(&queue, 0).is_some());
        assert!(take(&queue, 0).is_none());
    }

    #[test]
    fn cancelled_it_tells_those_who_wait() {
        let queue = Queue::new(1);
        let mut receiver = submit(&queue, 0).unwrap();
        queue.cancel(&Refusal::new(503, None, "over"));
        assert!(matches!(receiver.try_recv(), Ok(Event::Failed(why)) if why.message == "over"));
        assert!(queue.is_cancelled() && take(&queue, 0).is_none());
    }
}
