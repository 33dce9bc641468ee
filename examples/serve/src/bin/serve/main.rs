// SPDX-License-Identifier: Apache-2.0
//! An OpenAI-style server for one model: many connections, one thread with the model, several requests in each step.
mod api;
mod connections;
mod engine;
mod http;
mod intake;
mod patient;
mod queue;

use anyhow::{ensure, Context as _, Result};
use connections::{Connections, SPARE};
use engine::{stopping, Engine};
use http::App;
use intake::{longest_body, Intake};
use libspark::{set_log, Context, LogLevel};
use model::gguf::Gguf;
use model::pages::{check_page, codes, Pages, USUAL_PAGE};
use model::shape::Shape;
use model::step::{Model, Room, CHUNK};
use model::tokenizer::Tokenizer;
use queue::Queue;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{oneshot, Notify};

const USAGE: &str = "usage: serve --model FILE [options]

Serves /v1/completions, /v1/chat/completions, /v1/models and /health, without encryption or keys: put a proxy in front
of it where others can reach it.

  --model FILE     a GGUF file (Llama layout; Q4_1, Q8_0 and F32); its name without the ending is the model's
  --listen ADDRESS where to listen (default 127.0.0.1:8080; port 0: any, it is printed)
  --slots N        requests that are worked on at a time (default 8)
  --queue N        requests that may wait for a slot; more are refused with 429 (default 32)
  --context N      tokens of a prompt and its answer together (default: what the model was trained for)
  --page N         tokens of a page of the cache (default 16)
  --pages N        pages of all requests together; a request waits until there are enough for its longest answer
                   (default: what all slots take at most)
  --cache TYPE     what keys and values are kept in: bf16, or e4m3, half as large (default bf16)
  --share          requests that begin alike have the full pages of that in common, also after one has ended
  --piece N        tokens of a new prompt between two steps of the others (default and most: 256)
  --body BYTES     the longest body; longer ones are refused with 413 (default: what a prompt can take that fits)
  --connections N  connections at a time; for one more, the one that has been without work the longest is closed
                   (default 128; fewer where ulimit -n is too low)
  --patience SECONDS  how long a client may take to send a head or a body, to read on, or to ask again (default 30)
  --grace SECONDS  how long requests may go on after SIGTERM (default 30)";

struct Options {
    model: PathBuf,
    listen: String,
    slots: usize,
    queue: usize,
    context: Option<usize>,
    page: usize,
    pages: Option<usize>,
    codes: bool,
    share: bool,
    piece: usize,
    body: Option<usize>,
    connections: usize,
    patience: Duration,
    grace: Duration,
}

fn options() -> Result<Options> {
    use lexopt::prelude::*;
    let mut o = Options {
        model: PathBuf::new(),
        listen: "127.0.0.1:8080".to_owned(),
        slots: 8,
        queue: 32,
        context: None,
        page: USUAL_PAGE,
        pages: None,
        codes: false,
        share: false,
        piece: CHUNK,
        body: None,
        connections: 128,
        patience: Duration::from_secs(30),
        grace: Duration::from_secs(30),
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(word) = parser.next()? {
        match word {
            Long("model") => o.model = parser.value()?.into(),
            Long("listen") => o.listen = parser.value()?.string()?,
            Long("slots") => o.slots = parser.value()?.parse()?,
            Long("queue") => o.queue = parser.value()?.parse()?,
            Long("context") => o.context = Some(parser.value()?.parse()?),
            Long("page") => o.page = parser.value()?.parse()?,
            Long("pages") => o.pages = Some(parser.value()?.parse()?),
            Long("cache") => o.codes = codes(&parser.value()?.string()?)?,
            Long("share") => o.share = true,
            Long("piece") => o.piece = parser.value()?.parse()?,
            Long("body") => o.body = Some(parser.value()?.parse()?),
            Long("connections") => o.connections = parser.value()?.parse()?,
            Long("patience") => o.patience = Duration::try_from_secs_f64(parser.value()?.parse()?)?,
            Long("grace") => o.grace = Duration::try_from_secs_f64(parser.value()?.parse()?)?,
            Short('h') | Long("help") => {
                println!("{USAGE}");
                std::process::exit(0)
            }
            other => return Err(other.unexpected().into()),
        }
    }
    ensure!(!o.model.as_os_str().is_empty(), "--model is missing\n\n{USAGE}");
    ensure!((1..=256).contains(&o.slots), "--slots is {}; 1 to 256 can be", o.slots);
    check_page(o.page)?;
    ensure!((1..=CHUNK).contains(&o.piece), "--piece is {}; 1 to {CHUNK} can be", o.piece);
    ensure!(o.queue <= 1 << 16, "--queue is {}; 0 to 65536 can be", o.queue);
    ensure!(o.connections > SPARE, "--connections is {}; {} or more can be", o.connections, SPARE + 1);
    ensure!(o.patience > Duration::ZERO, "--patience is 0; more can be");
    Ok(o)
}

/// How much the cache holds: at least a request of the longest kind, so that each can begin once it is alone.
fn cache(o: &Options, context: usize) -> Result<Room> {
    let mut room = Room { context, page: o.page, pages: 0, codes: o.codes, invariant: o.share };
    let most = room.most();
    room.pages = o.pages.unwrap_or(o.slots * most);
    ensure!((most..=1 << 24).contains(&room.pages), "--pages is {}; {most} to 16777216 can be", room.pages);
    Ok(room)
}

/// SIGTERM or SIGINT.
async fn told_to_stop() -> Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Serves until told to stop, or until the engine has ended, which only an error makes it do by itself. Then no new
/// request is taken, and those that were may go on for a while.
async fn serve(app: App, listen: &str, grace: Duration, ended: oneshot::Receiver<()>) -> Result<()> {
    let listener = TcpListener::bind(listen).await.with_context(|| format!("listening on {listen}"))?;
    println!("listening on {}", listener.local_addr()?);
    let (queue, ending) = (app.queue.clone(), Arc::new(Notify::new()));
    let noticed = ending.clone();
    let closing = queue.clone();
    let stop = async move {
        tokio::select! {
            _ = told_to_stop() => {}
            _ = ended => {}
        }
        closing.close();
        noticed.notify_one();
    };
    let (connections, router) = (app.connections.clone(), http::router(app));
    let late = async {
        ending.notified().await;
        tokio::time::sleep(grace).await;
        queue.cancel(&stopping());
        // A client that does not read what it is told keeps its connection: it is left to itself.
        tokio::time::sleep(Duration::from_secs(2)).await;
    };
    tokio::select! {
        () = connections.serve(listener, router, stop) => {}
        () = late => {}
    }
    queue.cancel(&stopping());
    Ok(())
}

fn main() -> Result<()> {
    let o = options()?;
    set_log(LogLevel::Warn, Some(|level, component, text| eprintln!("libspark {level:?} {component}: {text}")));
    let gguf = Gguf::open(&o.model)?;
    let (shape, tokenizer) = (Shape::read(&gguf)?, Arc::new(Tokenizer::new(&gguf)?));
    let context = o.context.unwrap_or(shape.trained);
    ensure!((1..=shape.trained).contains(&context), "--context is {context}; 1 to {} can be", shape.trained);
    let room = cache(&o, context)?;
    let device = Context::new(0)?;
    let model = Model::load(&device, &gguf, &shape, o.slots, room)?;
    drop(gguf);

    let places = connections::room(o.connections)?;
    let queue = Arc::new(Queue::new((o.slots + o.queue).min(places - SPARE)));
    let (end, ended) = oneshot::channel();
    let (words, jobs) = (tokenizer.clone(), queue.clone());
    let pages = Pages::new(u32::try_from(room.pages)?, room.page, o.share);
    let free = Arc::new(AtomicUsize::new(room.pages));
    let told = free.clone();
    let engine = std::thread::spawn(move || {
        let outcome = Engine::new(model, pages, &words, &jobs, o.piece, told).run();
        let _ = end.send(()); // nobody listens when it was told to stop
        outcome
    });
    let name = o.model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let connections = Connections::new(places, o.patience);
    let body = o.body.unwrap_or_else(|| longest_body(context, tokenizer.longest()));
    let intake = Intake::new(body, o.patience);
    let app =
        App { name, context, slots: o.slots, pages: room.pages, free, tokenizer, queue, device, connections, intake };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(app, &o.listen, o.grace, ended));
    let outcome = engine.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the engine has broken down")));
    served.and(outcome)
}
