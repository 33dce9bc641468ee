// SPDX-License-Identifier: Apache-2.0
//! The routes: each hands a request to the engine and gives back what the engine tells, whole or as it comes.
use crate::api::{Body, Form, Refusal, Request};
use crate::connections::{Connections, Guest};
use crate::engine::stopping;
use crate::intake::Intake;
use crate::queue::{Event, Job, Place, Queue, Refused};
use axum::extract::{self, State};
use axum::http::{header, StatusCode};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use futures_util::stream::{self, StreamExt};
use libspark::Context;
use model::tokenizer::Tokenizer;
use serde_json::{json, Value};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

/// What all routes share.
pub struct App {
    pub name: String,
    pub context: usize,
    pub slots: usize,
    pub pages: usize,
    pub free: Arc<AtomicUsize>, // of these
    pub tokenizer: Arc<Tokenizer>,
    pub queue: Arc<Queue>,
    pub device: Context,
    pub connections: Arc<Connections>,
    pub intake: Intake,
}

type Shared = State<Arc<App>>;
type From = Extension<Guest>;

pub fn router(app: App) -> Router {
    let not_here = || async { Refusal::new(404, None, "there is no such route") };
    let not_so = || async { Refusal::new(405, None, "this route takes another method") };
    Router::new()
        .route("/v1/completions", post(|app: Shared, from: From, request| complete(app, from, request, false)))
        .route("/v1/chat/completions", post(|app: Shared, from: From, request| complete(app, from, request, true)))
        .route("/v1/models", get(models))
        .route("/health", get(health))
        .fallback(not_here)
        .method_not_allowed_fallback(not_so)
        .with_state(Arc::new(app))
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self.body())).into_response();
        if status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}

async fn models(State(app): Shared) -> Json<Value> {
    let model = json!({"id": app.name, "object": "model", "created": 0, "owned_by": "local"});
    Json(json!({"object": "list", "data": [model]}))
}

async fn health(State(app): Shared) -> Result<Json<Value>, Refusal> {
    let (free, total) = app.device.memory().map_err(|error| Refusal::new(503, None, error.to_string()))?;
    let (active, waiting) = app.queue.count();
    Ok(Json(json!({
        "status": "ok",
        "model": app.name,
        "context": app.context,
        "slots": app.slots,
        "pages": app.pages,
        "pages_free": app.free.load(Ordering::Relaxed),
        "active": active,
        "waiting": waiting,
        "connections": app.connections.count(),
        "device_memory_in_use": total - free,
    })))
}

async fn complete(
    State(app): Shared,
    Extension(guest): From,
    request: extract::Request,
    chat: bool,
) -> Result<Response, Refusal> {
    let body = app.intake.read(request).await?;
    let refused = |refused| match refused {
        Refused::Full => Refusal::new(429, None, "all slots are taken and the queue is full: try again later"),
        Refused::Closed => stopping(),
    };
    let place = app.queue.reserve(|| Some(guest.work())).map_err(refused)?;
    let (request, place) = checked(&app, body, place, chat).await?;
    let (form, streamed) = (Form::new(chat, &app.name, &request), request.stream);
    let (events, receiver) = unbounded_channel();
    let (max_tokens, sampling) = (request.max_tokens, request.sampling);
    app.queue
        .submit(Job { prompt: request.prompt, max_tokens, sampling, stops: request.stops, events, _place: place })
        .map_err(refused)?;
    if streamed {
        return Ok(in_pieces(form, receiver));
    }
    whole(form, receiver).await
}

/// What a body asks for. A long prompt takes a while to cut into tokens: not on the thread that serves all connections,
/// and with its place until that is done, whether or not its client still waits.
async fn checked(app: &Arc<App>, body: Vec<u8>, place: Place, chat: bool) -> Result<(Request, Place), Refusal> {
    let (turn, app) = (app.intake.turn().await, app.clone());
    let check = move || {
        let (body, _turn) = (Body::parse(&body)?, turn);
        Ok((body.request(chat, &app.name, &app.tokenizer, app.context)?, place))
    };
    tokio::task::spawn_blocking(check).await.map_err(|error| Refusal::new(500, None, error.to_string()))?
}

async fn whole(form: Form, mut events: UnboundedReceiver<Event>) -> Result<Response, Refusal> {
    let mut answer = String::new();
    while let Some(event) = events.recv().await {
        match event {
            Event::Text(text) => answer.push_str(&text),
            Event::End { reason, tokens, cached } => {
                return Ok(Json(form.whole(&answer, reason, tokens, cached)).into_response())
            }
            Event::Failed(why) => return Err(why),
        }
    }
    Err(Refusal::new(500, None, "the answer broke off"))
}

/// Server-sent events. When the client goes away, the response is dropped, and `events` with it.
fn in_pieces(form: Form, events: UnboundedReceiver<Event>) -> Response {
    let data = |object: Value| sse::Event::default().data(object.to_string());
    let opening = form.opening().map(data);
    let told = stream::unfold(events, |mut events| async { Some((events.recv().await?, events)) });
    let pieces = told.flat_map(move |event| {
        stream::iter(match event {
            Event::Text(text) if text.is_empty() => Vec::new(),
            Event::Text(text) => vec![data(form.piece(&text))],
            Event::End { reason, tokens, cached } => {
                let done = sse::Event::default().data("[DONE]");
                form.closing(reason, tokens, cached).into_iter().map(data).chain([done]).collect()
            }
            Event::Failed(why) => vec![data(why.body())],
        })
    });
    Sse::new(stream::iter(opening).chain(pieces).map(Ok::<_, Infallible>))
        .keep_alive(KeepAlive::default())
        .into_response()
}
