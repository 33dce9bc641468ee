// SPDX-License-Identifier: Apache-2.0
//! The thread that owns the model. Each round appends one piece of one new prompt, and one token of every answer that
//! is being written: requests join and leave between steps, and no long prompt holds up the others.
use crate::api::Refusal;
use crate::queue::{Event, Job, Queue};
use anyhow::Result;
use model::step::{Model, Row};
use model::text::Answer;
use model::tokenizer::Tokenizer;

/// What those are told who come or are still there at the end.
pub fn stopping() -> Refusal {
    Refusal::new(503, None, "the server is stopping")
}

/// A job that has a slot of the cache.
struct Seat {
    job: Job,
    ticket: u64,       // grows from job to job
    position: usize,   // tokens that the slot holds
    next: Option<u32>, // chosen, and not appended yet; None while the prompt is being appended
    tokens: usize,     // of the answer
    answer: Answer,
}

pub struct Engine<'a> {
    model: Model,
    tokenizer: &'a Tokenizer,
    queue: &'a Queue,
    piece: usize,
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
        true
    }

    fn end(&mut self, reason: &'static str) -> bool {
        let text = self.answer.finish();
        let _ = self.job.events.send(Event::Text(text)); // who has gone needs no end
        let _ = self.job.events.send(Event::End { reason, tokens: self.tokens });
        false
    }
}

impl<'a> Engine<'a> {
    /// An engine that appends at most `piece` tokens of a prompt between two steps.
    pub fn new(model: Model, tokenizer: &'a Tokenizer, queue: &'a Queue, piece: usize) -> Engine<'a> {
        let seats = (0..model.slots()).map(|_| None).collect();
        Engine { model, tokenizer, queue, piece, seats, tickets: 0 }
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
            self.seats.iter_mut().for_each(|seat| {
                seat.take_if(|seat| seat.job.events.is_closed());
            });
            self.admit();
            if self.seats.iter().all(Option::is_none) || self.queue.is_cancelled() {
                return Ok(());
            }
            self.append()?;
            self.step()?;
        }
    }

    /// Gives free slots to those who wait; waits where there is nothing else to do.
    fn admit(&mut self) {
        loop {
            let taken = self.seats.iter().flatten().count();
            let Some(free) = self.seats.iter_mut().find(|seat| seat.is_none()) else {
                return self.queue.working(taken);
            };
            let Some(mut job) = self.queue.take(taken) else { return };
            let answer = Answer::new(std::mem::take(&mut job.stops));
            *free = Some(Seat { job, ticket: self.tickets, position: 0, next: None, tokens: 0, answer });
            self.tickets += 1;
        }
    }

    /// One piece of the oldest prompt that is not in the cache yet.
    fn append(&mut self) -> Result<()> {
        let new = self.seats.iter_mut().enumerate().filter_map(|(slot, seat)| Some((slot, seat.as_mut()?)));
        let oldest = new.filter(|(_, seat)| seat.next.is_none()).min_by_key(|(_, seat)| seat.ticket);
        let Some((slot, seat)) = oldest else { return Ok(()) };
        let left = &seat.job.prompt[seat.position..];
        let piece = &left[..left.len().min(self.piece)];
        self.model.append(slot, seat.position, piece)?;
        seat.position += piece.len();
        if piece.len() == left.len() {
            let token = self.model.first(piece.len(), seat.job.sampling)?;
            if !seat.take(token, self.tokenizer) {
                self.seats[slot] = None;
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
        let chosen = self.model.step(&rows)?;
        for ((place, row), token) in self.seats.iter_mut().zip(rows).zip(chosen) {
            let (Some(seat), Some(_)) = (place.as_mut(), row) else { continue };
            seat.position += 1;
            if !seat.take(token, self.tokenizer) {
                *place = None;
            }
        }
        Ok(())
    }
}

fn row(seat: &Seat) -> Option<Row> {
    Some(Row { token: seat.next?, position: seat.position, sampling: seat.job.sampling })
}
