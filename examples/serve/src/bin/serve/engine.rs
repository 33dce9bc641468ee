// SPDX-License-Identifier: Apache-2.0
//! The thread that owns the model. Each round appends one piece of one new prompt, and one token of every answer that
//! is being written: requests join and leave between steps, and no long prompt holds up the others. A request joins
//! once there are a slot and the pages that its longest answer takes; until then it waits, and those behind it.
use crate::api::Refusal;
use crate::queue::{Event, Job, Queue};
use anyhow::{ensure, Result};
use model::pages::{Held, Pages};
use model::step::{Model, Row};
use model::text::Answer;
use model::tokenizer::Tokenizer;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// What those are told who come or are still there at the end.
pub fn stopping() -> Refusal {
    Refusal::new(503, None, "the server is stopping")
}

/// A job that has a slot of the cache.
struct Seat {
    job: Job,          // its prompt grows by the tokens of the answer
    held: Held,        // the pages of these
    ticket: u64,       // grows from job to job
    position: usize,   // tokens that the pages hold
    next: Option<u32>, // chosen, and not appended yet; None while the prompt is being appended
    tokens: usize,     // of the answer
    answer: Answer,
}

pub struct Engine<'a> {
    model: Model,
    pages: Pages,
    tokenizer: &'a Tokenizer,
    queue: &'a Queue,
    piece: usize,
    free: Arc<AtomicUsize>,
    seats: Vec<Option<Seat>>,
    tickets: u64,
}

impl Seat {
    /// Takes a chosen token: tells its text. False when the job is done.
    fn take(&mut self, token: Option<u32>, tokenizer: &Tokenizer) -> bool {
        let Some(token) = token else {
            let why = Refusal::new(500, None, "the logits hold no number to choose by");
            let _ = self.job.events.send(Event::Failed(why));
            return false;
        };
        if tokenizer.ends(token) {
            return self.end("stop");
        }
        self.tokens += 1;
        let (text, stopped) = self.answer.push(tokenizer.decode(token));
        if !text.is_empty() && self.job.events.send(Event::Text(text)).is_err() {
            return false;
        }
        if stopped {
            return self.end("stop");
        }
        if self.tokens == self.job.max_tokens {
            return self.end("length");
        }
        self.next = Some(token);
        self.job.prompt.push(token);
        true
    }

    fn end(&mut self, reason: &'static str) -> bool {
        let text = self.answer.finish();
        let _ = self.job.events.send(Event::Text(text)); // who has gone needs no end
        let (tokens, cached) = (self.tokens, self.held.shared);
        let _ = self.job.events.send(Event::End { reason, tokens, cached });
        false
    }
}

impl<'a> Engine<'a> {
    /// An engine that appends at most `piece` tokens of a prompt between two steps, and tells how many pages are free.
    pub fn new(
        model: Model,
        pages: Pages,
        tokenizer: &'a Tokenizer,
        queue: &'a Queue,
        piece: usize,
        free: Arc<AtomicUsize>,
    ) -> Engine<'a> {
        let seats = (0..model.slots()).map(|_| None).collect();
        Engine { model, pages, tokenizer, queue, piece, free, seats, tickets: 0 }
    }

    /// Works until the queue is closed and everything in it is done, or until it is cancelled. An error of the device
    /// ends it too: whatever runs then is told why.
    pub fn run(mut self) -> Result<()> {
        let outcome = self.rounds();
        let why = outcome.as_ref().err().map_or_else(stopping, |error| Refusal::new(500, None, format!("{error:#}")));
        self.queue.cancel(&why);
        for seat in self.seats.iter().flatten() {
            let _ = seat.job.events.send(Event::Failed(why.clone()));
        }
        outcome
    }

    fn rounds(&mut self) -> Result<()> {
        loop {
            for slot in 0..self.seats.len() {
                if self.seats[slot].as_ref().is_some_and(|seat| seat.job.events.is_closed()) {
                    self.leave(slot)?;
                }
            }
            self.free.store(self.pages.free(), Ordering::Relaxed);
            self.admit()?;
            if self.seats.iter().all(Option::is_none) || self.queue.is_cancelled() {
                return Ok(());
            }
            self.append()?;
            self.step()?;
        }
    }

    /// Gives free slots, and the promise of pages, to those who wait; waits where there is nothing else to do.
    fn admit(&mut self) -> Result<()> {
        loop {
            let taken = self.seats.iter().flatten().count();
            let Some(slot) = self.seats.iter().position(Option::is_none) else {
                self.queue.working(taken);
                return Ok(());
            };
            let pages = &mut self.pages;
            let most = |job: &Job| job.prompt.len() + job.max_tokens - 1; // the last token is not appended
            let Some((mut job, held)) = self.queue.take(taken, |job| pages.begin(&job.prompt, most(job)).transpose())
            else {
                ensure!(taken > 0 || self.queue.count().1 == 0, "a request waits for pages that nobody has");
                return Ok(());
            };
            let (held, answer) = (held?, Answer::new(std::mem::take(&mut job.stops)));
            self.model.place(slot, 0, &held.pages)?;
            let (ticket, position) = (self.tickets, held.shared);
            self.seats[slot] = Some(Seat { job, held, ticket, position, next: None, tokens: 0, answer });
            self.tickets += 1;
        }
    }

    /// Ends what a slot does; its pages are free for others.
    fn leave(&mut self, slot: usize) -> Result<()> {
        self.seats[slot].take().map_or(Ok(()), |seat| self.pages.release(seat.held))
    }

    /// One piece of the oldest prompt that is not in the cache yet.
    fn append(&mut self) -> Result<()> {
        let new = self.seats.iter_mut().enumerate().filter_map(|(slot, seat)| Some((slot, seat.as_mut()?)));
        let oldest = new.filter(|(_, seat)| seat.next.is_none()).min_by_key(|(_, seat)| seat.ticket);
        let Some((slot, seat)) = oldest else { return Ok(()) };
        let end = seat.job.prompt.len().min(seat.position + self.piece);
        let before = self.pages.grow(&mut seat.held, end)?;
        self.model.place(slot, before, &seat.held.pages[before..])?;
        let piece = &seat.job.prompt[seat.position..end];
        self.model.append(slot, seat.position, piece)?;
        self.pages.note(&mut seat.held, &seat.job.prompt[..end]);
        seat.position = end;
        if end == seat.job.prompt.len() {
            let token = self.model.first(piece.len(), seat.job.sampling)?;
            if !seat.take(token, self.tokenizer) {
                self.leave(slot)?;
            }
        }
        Ok(())
    }

    /// One token of every answer.
    fn step(&mut self) -> Result<()> {
        let rows: Vec<Option<Row>> = self.seats.iter().map(|seat| row(seat.as_ref()?)).collect();
        if rows.iter().all(Option::is_none) {
            return Ok(());
        }
        for (slot, seat) in self.seats.iter_mut().enumerate() {
            let Some(seat) = seat.as_mut().filter(|seat| seat.next.is_some()) else { continue };
            let before = self.pages.grow(&mut seat.held, seat.position + 1)?;
            self.model.place(slot, before, &seat.held.pages[before..])?;
        }
        let chosen = self.model.step(&rows)?;
        for (slot, (row, token)) in rows.into_iter().zip(chosen).enumerate() {
            let (Some(seat), Some(_)) = (self.seats[slot].as_mut(), row) else { continue };
            seat.position += 1;
            self.pages.note(&mut seat.held, &seat.job.prompt[..seat.position]);
            if !seat.take(token, self.tokenizer) {
                self.leave(slot)?;
            }
        }
        Ok(())
    }
}

fn row(seat: &Seat) -> Option<Row> {
    Some(Row { token: seat.next?, position: seat.position, sampling: seat.job.sampling })
}
