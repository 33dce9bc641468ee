// SPDX-License-Identifier: Apache-2.0
//! The connections of the server: never more than there are places and descriptors for. Where one more comes, the one
//! whose client has kept it the longest without work for the model goes, so that who sends nothing keeps nobody out.
use crate::patient::Patient;
use anyhow::{ensure, Result};
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::future::Future;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Connections beyond those that requests for the model can hold: for who asks how the server is.
pub const SPARE: usize = 8;
/// Descriptors beyond those of connections: of one that is being taken, and what the driver may open later.
const DESCRIPTORS: usize = 16;
/// Of a head; hyper keeps one for each connection.
const HEAD_BYTES: usize = 16 << 10;
/// How long nothing is accepted where the system cannot give another descriptor.
const PAUSE: Duration = Duration::from_millis(50);

/// One of the connections. The longer one has been without work, the lower is its rank.
struct Entry {
    rank: u64,
    working: usize,
    leave: Arc<Notify>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<u64, Entry>,
    ranks: u64,
}

pub struct Connections {
    room: usize,
    patience: Duration,
    state: Mutex<State>,
}

/// A connection, as the handlers of its requests see it.
#[derive(Clone)]
pub struct Guest {
    connections: Arc<Connections>,
    id: u64,
}

/// While it is there, its connection does work and is not closed for another.
pub struct Working(Guest);

/// The connection itself: it is over when this goes.
struct Stay(Guest);

/// How many connections there can be: as wanted, or as many as the process may still open descriptors for.
pub fn room(wanted: usize) -> Result<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let Some(most) = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok()) else {
        return Ok(wanted); // unlimited, or a system that does not say
    };
    let taken = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let room = wanted.min(most.saturating_sub(taken + DESCRIPTORS));
    ensure!(room > SPARE, "at most {most} files can be open (ulimit -n), too few for a server: {taken} are open");
    Ok(room)
}

impl Connections {
    pub fn new(room: usize, patience: Duration) -> Arc<Connections> {
        Arc::new(Connections { room, patience, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn count(&self) -> usize {
        self.state().entries.len()
    }

    /// Closes the connection that has been without work the longest.
    fn make_room(&self) {
        let mut state = self.state();
        let idle = state.entries.iter().filter(|(_, entry)| entry.working == 0);
        let Some(id) = idle.min_by_key(|(_, entry)| entry.rank).map(|(&id, _)| id) else { return };
        state.entries.remove(&id).expect("it was there").leave.notify_one();
    }

    fn enter(self: &Arc<Self>) -> (Stay, Arc<Notify>) {
        let (mut state, leave) = (self.state(), Arc::new(Notify::new()));
        state.ranks += 1;
        let id = state.ranks;
        state.entries.insert(id, Entry { rank: id, working: 0, leave: leave.clone() });
        (Stay(Guest { connections: self.clone(), id }), leave)
    }

    /// Serves `router` to all who come, until `stop`; then those who are being answered get their answers.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    if self.count() >= self.room {
                        self.make_room();
                        tokio::task::yield_now().await; // it closes
                    }
                    self.spawn(stream, &router, &graceful);
                }
                Err(error) if is_theirs(error.kind()) => {}
                Err(_) => {
                    self.make_room();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        drop(listener);
        graceful.shutdown().await;
    }

    fn spawn(self: &Arc<Self>, stream: TcpStream, router: &Router, graceful: &GracefulShutdown) {
        let (stay, leave) = self.enter();
        let service = TowerToHyperService::new(router.clone().layer(Extension(stay.0.clone())));
        let io = TokioIo::new(Patient::new(stream, self.patience));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(io, service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            tokio::select! {
                _ = connection => {} // what was wrong with it is its client's business
                () = leave.notified() => {}
            }
            drop(stay);
        });
    }
}

/// Whether it is the connection that has failed, and not the server.
fn is_theirs(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted)
}

impl Guest {
    pub fn work(&self) -> Working {
        if let Some(entry) = self.connections.state().entries.get_mut(&self.id) {
            entry.working += 1;
        }
        Working(self.clone())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let mut state = self.0.connections.state();
        state.ranks += 1;
        let rank = state.ranks;
        if let Some(entry) = state.entries.get_mut(&self.0.id) {
            (entry.working, entry.rank) = (entry.working - 1, rank);
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.connections.state().entries.remove(&self.0.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(connections: &Connections) -> Vec<u64> {
        connections.state().entries.keys().copied().collect()
    }

    #[test]
    fn who_has_been_without_work_the_longest_goes() {
        let connections = Connections::new(3, Duration::ZERO);
        let stays: Vec<_> = (0..3).map(|_| connections.enter().0).collect();
        let work = stays[0].0.work();
        connections.make_room();
        assert_eq!(ids(&connections), [1, 3], "the first works");
        drop(work);
        connections.make_room();
        assert_eq!(ids(&connections), [1], "the first has worked since");
        drop(stays);
        assert_eq!(connections.count(), 0);
    }

    #[test]
    fn who_works_stays() {
        let connections = Connections::new(1, Duration::ZERO);
        let (stay, _leave) = connections.enter();
        let (first, second) = (stay.0.work(), stay.0.work());
        drop(first);
        connections.make_room();
        assert_eq!(connections.count(), 1);
        drop(stay);
        drop(second); // the engine may be later than the connection
        assert_eq!(connections.count(), 0);
    }

    #[test]
    fn there_is_no_more_room_than_descriptors() {
        assert_eq!(room(SPARE + 1).unwrap(), SPARE + 1);
        assert!(room(usize::MAX).unwrap() > SPARE);
    }
}
