// SPDX-License-Identifier: Apache-2.0
//! What clients of OpenAI's API send and expect, as far as one model of text can serve it. What would change an answer
//! and is not known here is refused, not passed over.
use model::step::Sampling;
use model::tokenizer::{Message, Tokenizer};
use serde::Deserialize;
use serde_json::{json, Map, Value};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::SystemTime;

/// The most bytes of a text that ends an answer: the engine looks for it in each step.
const STOP_BYTES: usize = 1024;
/// The fewest tokens of a message in a chat: its begin and its end, its role, and the end of the line.
const MESSAGE_TOKENS: usize = 4;
/// The most characters of a sentence, which may quote what the client has sent.
const SENTENCE: usize = 400;

/// Why a request is not served: status, sentence, and the field it is about.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub status: u16,
    pub message: String,
    pub code: Option<&'static str>,
    pub param: Option<String>,
}

impl Refusal {
    pub fn new(status: u16, code: Option<&'static str>, message: impl Into<String>) -> Refusal {
        let mut message = message.into();
        if let Some((end, _)) = message.char_indices().nth(SENTENCE) {
            message.truncate(end);
            message.push_str(" ...");
        }
        Refusal { status, message, code, param: None }
    }

    fn field(name: &str, message: impl std::fmt::Display) -> Refusal {
        let param = Some(name.chars().take(SENTENCE).collect());
        Refusal { param, ..Refusal::new(400, None, format!("{name} {message}")) }
    }

    pub fn body(&self) -> Value {
        let kind = match self.status {
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        json!({"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}})
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Said {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// The body of a request for a completion, of either kind.
#[derive(Deserialize)]
pub struct Body {
    model: String,
    prompt: Option<Value>,
    messages: Option<Vec<Said>>,
    max_tokens: Option<usize>,
    max_completion_tokens: Option<usize>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    seed: Option<i64>,
    stop: Option<Texts>,
    #[serde(default)]
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// What a request comes down to.
pub struct Request {
    pub prompt: Vec<u32>,
    pub max_tokens: usize,
    pub sampling: Sampling,
    pub stops: Vec<String>,
    pub stream: bool,
    pub include_usage: bool,
}

/// Fields that change nothing at these values, or at any.
fn changes_nothing(name: &str, value: &Value) -> bool {
    match name {
        "n" | "best_of" => *value == json!(1),
        "frequency_penalty" | "presence_penalty" => value.as_f64() == Some(0.0),
        "echo" | "logprobs" => *value == json!(false),
        "user" | "metadata" | "store" => true,
        _ => value.is_null(),
    }
}

fn message(said: Said) -> Result<Message, Refusal> {
    if !matches!(said.role.as_str(), "system" | "user" | "assistant") {
        return Err(Refusal::field(
            "messages",
            format!("has the role '{}'; system, user and assistant can be", said.role),
        ));
    }
    let content = match said.content {
        Content::Text(text) => text,
        Content::Parts(parts) => {
            if let Some(part) = parts.iter().find(|part| part.kind != "text") {
                return Err(Refusal::field("messages", format!("has a part of type '{}'; text can be", part.kind)));
            }
            parts.into_iter().map(|part| part.text).collect()
        }
    };
    Ok(Message { role: said.role, content })
}

fn too_long(message: String) -> Refusal {
    Refusal::new(400, Some("context_length_exceeded"), message)
}

/// Refuses what cannot fit before it is cut into tokens, which takes a hundred times its size.
fn check_length(bytes: usize, messages: usize, tokenizer: &Tokenizer, context: usize) -> Result<(), Refusal> {
    let longest = tokenizer.longest();
    let fewest = bytes.div_ceil(longest) + messages * MESSAGE_TOKENS;
    if fewest <= context {
        return Ok(());
    }
    Err(too_long(format!(
        "the prompt has {bytes} bytes, which are {fewest} tokens or more; the context holds {context}, of at most \
         {longest} bytes each"
    )))
}

impl Body {
    fn sampling(&self) -> Result<Sampling, Refusal> {
        let (temperature, top_p) = (self.temperature.unwrap_or(1.0), self.top_p.unwrap_or(1.0));
        if !(0.0..=2.0).contains(&temperature) {
            return Err(Refusal::field("temperature", format!("is {temperature}; 0 to 2 can be")));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(Refusal::field("top_p", format!("is {top_p}; above 0 and up to 1 can be")));
        }
        let seed = self.seed.map_or_else(|| RandomState::new().build_hasher().finish(), |seed| seed as u64);
        Ok(Sampling { temperature, top_p, seed })
    }

    fn stops(&mut self) -> Result<Vec<String>, Refusal> {
        let stops = match self.stop.take() {
            None => Vec::new(),
            Some(Texts::One(text)) => vec![text],
            Some(Texts::Many(texts)) => texts,
        };
        if stops.len() > 4 || stops.iter().any(String::is_empty) {
            return Err(Refusal::field("stop", "is not one to four texts, none of them empty"));
        }
        if let Some(long) = stops.iter().find(|stop| stop.len() > STOP_BYTES) {
            let message = format!("has a text of {} bytes; at most {STOP_BYTES} can be", long.len());
            return Err(Refusal::field("stop", message));
        }
        Ok(stops)
    }

    fn tokens(&mut self, chat: bool, tokenizer: &Tokenizer, context: usize) -> Result<Vec<u32>, Refusal> {
        let failed = |error: anyhow::Error| Refusal::new(400, None, error.to_string());
        if chat {
            let said = self.messages.take().ok_or_else(|| Refusal::field("messages", "is missing"))?;
            let messages = said.into_iter().map(message).collect::<Result<Vec<_>, _>>()?;
            if messages.is_empty() {
                return Err(Refusal::field("messages", "is empty"));
            }
            check_length(
                messages.iter().map(|message| message.content.len()).sum(),
                messages.len(),
                tokenizer,
                context,
            )?;
            return tokenizer.encode_chat(&messages).map_err(failed);
        }
        match self.prompt.take() {
            Some(Value::String(text)) if !text.is_empty() => {
                check_length(text.len(), 0, tokenizer, context)?;
                tokenizer.encode(&text).map_err(failed)
            }
            Some(Value::String(_)) => Err(Refusal::field("prompt", "is empty")),
            Some(_) => Err(Refusal::field("prompt", "is no string; one string can be")),
            None => Err(Refusal::field("prompt", "is missing")),
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Body, Refusal> {
        serde_json::from_slice(bytes)
            .map_err(|error| Refusal::new(400, None, format!("the body is no request: {error}")))
    }

    /// Checks everything; `context` is the number of tokens that a prompt and its answer can have together.
    pub fn request(
        mut self,
        chat: bool,
        name: &str,
        tokenizer: &Tokenizer,
        context: usize,
    ) -> Result<Request, Refusal> {
        if self.model != name {
            let message = format!("the model '{}' is not here; '{name}' is", self.model);
            return Err(Refusal { param: Some("model".into()), ..Refusal::new(404, Some("model_not_found"), message) });
        }
        if let Some((name, value)) = self.others.iter().find(|(name, value)| !changes_nothing(name, value)) {
            return Err(Refusal::field(name, format!("is not supported with the value {value}")));
        }
        let (stops, sampling) = (self.stops()?, self.sampling()?);
        let prompt = self.tokens(chat, tokenizer, context)?;
        let room = context.saturating_sub(prompt.len());
        let asked = self.max_completion_tokens.or(self.max_tokens);
        let max_tokens = asked.unwrap_or(if chat { room } else { room.min(16) }.max(1));
        if max_tokens == 0 {
            return Err(Refusal::field("max_tokens", "is 0; at least 1 can be"));
        }
        if max_tokens > room {
            let (has, wanted) = (prompt.len(), max_tokens);
            let message = format!("the prompt has {has} tokens and the answer {wanted}; the context holds {context}");
            return Err(too_long(message));
        }
        let include_usage = self.stream_options.is_some_and(|options| options.include_usage);
        let stream = self.stream.unwrap_or(false);
        Ok(Request { prompt, max_tokens, sampling, stops, stream, include_usage })
    }
}

/// The form of the answers to one request.
pub struct Form {
    pub chat: bool,
    pub model: String,
    pub prompt_tokens: usize,
    pub include_usage: bool,
    id: String,
    created: u64,
}

impl Form {
    pub fn new(chat: bool, model: &str, request: &Request) -> Form {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let number = RandomState::new().build_hasher().finish();
        let id = format!("{}-{number:016x}", if chat { "chatcmpl" } else { "cmpl" });
        let (prompt_tokens, include_usage) = (request.prompt.len(), request.include_usage);
        Form { chat, model: model.to_owned(), prompt_tokens, include_usage, id, created: since.as_secs() }
    }

    fn object(&self, kind: &str, choices: Value) -> Value {
        json!({"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices})
    }

    /// `cached`: tokens of the prompt whose keys and values were there.
    fn usage(&self, tokens: usize, cached: usize) -> Value {
        let prompt = self.prompt_tokens;
        json!({"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens,
               "prompt_tokens_details": {"cached_tokens": cached}})
    }

    /// The answer in one.
    pub fn whole(&self, text: &str, reason: &str, tokens: usize, cached: usize) -> Value {
        let mut object = if self.chat {
            let message = json!({"role": "assistant", "content": text});
            let choice = json!({"index": 0, "message": message, "finish_reason": reason, "logprobs": null});
            self.object("chat.completion", json!([choice]))
        } else {
            let choice = json!({"index": 0, "text": text, "finish_reason": reason, "logprobs": null});
            self.object("text_completion", json!([choice]))
        };
        object["usage"] = self.usage(tokens, cached);
        object
    }

    fn chunk(&self, choices: Value) -> Value {
        self.object(if self.chat { "chat.completion.chunk" } else { "text_completion" }, choices)
    }

    /// The first piece of a stream: of a chat, who speaks.
    pub fn opening(&self) -> Option<Value> {
        let delta = json!({"role": "assistant", "content": ""});
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null, "logprobs": null});
        self.chat.then(|| self.chunk(json!([choice])))
    }

    pub fn piece(&self, text: &str) -> Value {
        let (name, content) = if self.chat { ("delta", json!({"content": text})) } else { ("text", json!(text)) };
        self.chunk(json!([{"index": 0, name: content, "finish_reason": null, "logprobs": null}]))
    }

    /// The pieces at the end: why it ends, and how much it was.
    pub fn closing(&self, reason: &str, tokens: usize, cached: usize) -> Vec<Value> {
        let (name, content) = if self.chat { ("delta", json!({})) } else { ("text", json!("")) };
        let last = self.chunk(json!([{"index": 0, name: content, "finish_reason": reason, "logprobs": null}]));
        let usage = self.include_usage.then(|| {
            let mut object = self.chunk(json!([]));
            object["usage"] = self.usage(tokens, cached);
            object
        });
        [last].into_iter().chain(usage).collect()
    }
}
