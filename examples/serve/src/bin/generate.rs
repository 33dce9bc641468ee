// SPDX-License-Identifier: Apache-2.0
//! Reads a model, appends the prompt, and prints token after token.
use anyhow::{bail, ensure, Context as _, Result};
use libspark::Context;
use model::gguf::Gguf;
use model::pages::{check_page, codes, Pages, USUAL_PAGE};
use model::shape::Shape;
use model::step::{Model, Room, Row, Sampling, CHUNK};
use model::tokenizer::{Message, Tokenizer};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

const USAGE: &str = "usage: generate --model FILE [options]

  --model FILE     a GGUF file (Llama layout; Q4_1, Q8_0 and F32)
  --prompt TEXT    what to answer
  --system TEXT    the system message (default: what the file's chat template names)
  --raw            continue the prompt itself, without the form of a chat
  --max-tokens N   the longest answer (default 128)
  --page N         tokens of a page of the cache (default 16)
  --cache TYPE     what keys and values are kept in: bf16, or e4m3, half as large (default bf16)
  --temperature T  0 is the most likely token each time (default 0)
  --top-p P        choose among the most likely that together have probability P (default: all)
  --seed N         another seed, another answer, if the temperature is above 0
  --ignore-end     go on after the token that ends an answer";

struct Options {
    model: PathBuf,
    prompt: String,
    system: Option<String>,
    raw: bool,
    max_tokens: usize,
    page: usize,
    codes: bool,
    sampling: Sampling,
    ignore_end: bool,
}

fn options() -> Result<Options> {
    use lexopt::prelude::*;
    let mut o = Options {
        model: PathBuf::new(),
        prompt: "What is a GPU? Answer in two sentences.".into(),
        system: None,
        raw: false,
        max_tokens: 128,
        page: USUAL_PAGE,
        codes: false,
        sampling: Sampling::default(),
        ignore_end: false,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(word) = parser.next()? {
        match word {
            Long("model") => o.model = parser.value()?.into(),
            Long("prompt") => o.prompt = parser.value()?.string()?,
            Long("system") => o.system = Some(parser.value()?.string()?),
            Long("raw") => o.raw = true,
            Long("max-tokens") => o.max_tokens = parser.value()?.parse()?,
            Long("page") => o.page = parser.value()?.parse()?,
            Long("cache") => o.codes = codes(&parser.value()?.string()?)?,
            Long("temperature") => o.sampling.temperature = parser.value()?.parse()?,
            Long("top-p") => o.sampling.top_p = parser.value()?.parse()?,
            Long("seed") => o.sampling.seed = parser.value()?.parse()?,
            Long("ignore-end") => o.ignore_end = true,
            Short('h') | Long("help") => {
                println!("{USAGE}");
                std::process::exit(0)
            }
            other => return Err(other.unexpected().into()),
        }
    }
    ensure!(!o.model.as_os_str().is_empty(), "--model is missing\n\n{USAGE}");
    check_page(o.page)?;
    Ok(o)
}

fn prompt(o: &Options, tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    if o.raw {
        return tokenizer.encode(&o.prompt);
    }
    let message = |role: &str, content: &String| Message { role: role.into(), content: content.clone() };
    let system = o.system.iter().map(|content| message("system", content));
    tokenizer.encode_chat(&system.chain([message("user", &o.prompt)]).collect::<Vec<_>>())
}

fn main() -> Result<()> {
    let o = options()?;
    let gguf = Gguf::open(&o.model)?;
    let (shape, tokenizer) = (Shape::read(&gguf)?, Tokenizer::new(&gguf)?);
    let ids = prompt(&o, &tokenizer)?;
    ensure!(!ids.is_empty() && o.max_tokens > 0, "there is nothing to do: no prompt, or no token to generate");
    let context = ids.len() + o.max_tokens - 1; // the last token is not appended
    if context > shape.trained {
        bail!(
            "{} tokens and an answer of {} are more than the {} of this model",
            ids.len(),
            o.max_tokens,
            shape.trained
        );
    }

    let ctx = Context::new(0)?;
    eprintln!("device     {}", ctx.device()?.name);
    let began = Instant::now();
    let count = context.div_ceil(o.page);
    let room = Room { context, page: o.page, pages: count, codes: o.codes, invariant: false };
    let mut model = Model::load(&ctx, &gguf, &shape, 1, room)?;
    let mut pages = Pages::new(count.try_into()?, o.page, false);
    let mut held = pages.begin(&ids, context)?.context("the pages are too few")?;
    pages.grow(&mut held, context)?;
    model.place(0, 0, &held.pages)?;
    drop(gguf);
    eprintln!("load       {:8.2} s", began.elapsed().as_secs_f64());

    let began = Instant::now();
    for (i, chunk) in ids.chunks(CHUNK).enumerate() {
        model.append(0, i * CHUNK, chunk)?;
    }
    let last = (ids.len() - 1) % CHUNK + 1;
    let mut next = model.first(last, o.sampling)?;
    eprintln!("prefill    {:8.2} s   {} tokens", began.elapsed().as_secs_f64(), ids.len());

    let (began, mut out, mut count) = (Instant::now(), std::io::stdout(), 0);
    loop {
        let token = next.context("the logits hold no number to choose by")?;
        if tokenizer.ends(token) && !o.ignore_end {
            break;
        }
        out.write_all(tokenizer.decode(token))?;
        out.flush()?;
        count += 1;
        if count == o.max_tokens {
            break;
        }
        next = model.step(&[Some(Row { token, position: ids.len() + count - 1, sampling: o.sampling })])?[0];
    }
    let each = began.elapsed().as_secs_f64() / f64::from(u32::try_from(count.max(2) - 1)?);
    eprintln!("\nper token  {:8.2} ms  one recorded graph each", 1e3 * each);
    Ok(())
}
