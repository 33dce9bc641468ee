// SPDX-License-Identifier: Apache-2.0
//! Tokens of a text and bytes of a token: byte-level byte-pair encoding with the vocabulary and the merges of a GGUF
//! file, by the `tokenizers` crate.
use crate::gguf::Gguf;
use anyhow::{anyhow, bail, ensure, Context, Result};
use std::collections::HashMap;
use tokenizers::models::bpe::{Merges, Vocab, BPE};
use tokenizers::pre_tokenizers::{byte_level::ByteLevel, digits::Digits, sequence::Sequence};

pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    bytes: Vec<Vec<u8>>,
    specials: HashMap<String, u32>,
    end: u32,
    default_system: String,
    longest: usize,
}

/// Who says something in a chat, and what.
pub struct Message {
    pub role: String,
    pub content: String,
}

const BEGIN: &str = "<|im_start|>";
const END: &str = "<|im_end|>";

/// The byte that each character of a byte-level vocabulary stands for: the printable ones of Latin-1 stand for
/// themselves, and those from U+0100 on for the other bytes in order.
fn alphabet() -> HashMap<char, u8> {
    let printable = |byte: &u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let others = (0..=255u8).filter(|byte| !printable(byte)).zip('\u{100}'..).map(|(byte, spelled)| (spelled, byte));
    (0..=255u8).filter(printable).map(|byte| (char::from(byte), byte)).chain(others).collect()
}

/// The system message that the file's chat template puts in where there is none.
fn default_system(gguf: &Gguf) -> String {
    let template = gguf.text("tokenizer.chat_template").unwrap_or("");
    let begin = template.split_once("<|im_start|>system\n");
    begin.and_then(|(_, rest)| rest.split_once(END)).map_or("", |(text, _)| text).to_owned()
}

impl Tokenizer {
    pub fn new(gguf: &Gguf) -> Result<Tokenizer> {
        let (model, pre) = (gguf.text("tokenizer.ggml.model")?, gguf.text("tokenizer.ggml.pre")?);
        ensure!(model == "gpt2", "tokenizer model {model} is not supported; gpt2 is");
        // These cut a text at each digit, then by GPT-2's pattern; any other way would give other tokens.
        let known = ["smollm", "starcoder", "refact", "command-r", "codeshell"];
        ensure!(known.contains(&pre), "pre-tokenizer {pre} is not supported; smollm is");
        let (tokens, types) = (gguf.texts("tokenizer.ggml.tokens")?, gguf.integers("tokenizer.ggml.token_type")?);
        ensure!(tokens.len() == types.len(), "{} tokens have {} types", tokens.len(), types.len());

        let alphabet = alphabet();
        let (mut vocabulary, mut specials, mut bytes) = (Vocab::new(), HashMap::new(), Vec::new());
        for (id, (token, kind)) in (0u32..).zip(tokens.iter().zip(types)) {
            if matches!(kind, 3 | 4) {
                // control, or user defined: spelled as it is
                specials.insert(token.clone(), id);
                bytes.push(token.clone().into_bytes());
            } else {
                let spelled: Option<Vec<u8>> = token.chars().map(|c| alphabet.get(&c).copied()).collect();
                bytes.push(spelled.with_context(|| format!("token {id} is not spelled in bytes"))?);
                vocabulary.insert(token.clone(), id);
            }
        }
        let end = gguf.integer("tokenizer.ggml.eos_token_id", 0..tokens.len() as i64)? as u32;
        let inner = byte_level(vocabulary, gguf.texts("tokenizer.ggml.merges")?)?;
        let longest = bytes.iter().map(Vec::len).max().unwrap_or(0).max(1);
        Ok(Tokenizer { inner, bytes, specials, end, default_system: default_system(gguf), longest })
    }

    /// The number of bytes of the longest token: no text has fewer tokens than its bytes divided by this.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The tokens of a text. Names of special tokens are plain text: what a user types must not end his message.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding =
            self.inner.encode_fast(text, false).map_err(|error| anyhow!("the text has no tokens: {error}"))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The tokens of a chat up to where the answer begins. Without a system message, the template's own comes first.
    pub fn encode_chat(&self, messages: &[Message]) -> Result<Vec<u32>> {
        let (Some(&begin), Some(&end)) = (self.specials.get(BEGIN), self.specials.get(END)) else {
            bail!("this model's vocabulary has no {BEGIN} and {END}: it knows no chats");
        };
        let system = Message { role: "system".into(), content: self.default_system.clone() };
        let missing = messages.first().is_none_or(|first| first.role != "system") && !system.content.is_empty();
        let mut ids = Vec::new();
        for message in missing.then_some(&system).into_iter().chain(messages) {
            ids.push(begin);
            ids.extend(self.encode(&format!("{}\n{}", message.role, message.content))?);
            ids.push(end);
            ids.extend(self.encode("\n")?);
        }
        ids.push(begin);
        ids.extend(self.encode("assistant\n")?);
        Ok(ids)
    }

    /// The bytes of a token; a character may be spread over several.
    pub fn decode(&self, id: u32) -> &[u8] {
        self.bytes.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// Whether a token ends an answer.
    pub fn ends(&self, id: u32) -> bool {
        id == self.end
    }
}

fn byte_level(vocabulary: Vocab, merges: &[String]) -> Result<tokenizers::Tokenizer> {
    let pairs = merges.iter().map(|merge| {
        let (left, right) = merge.split_once(' ')?;
        Some((left.to_owned(), right.to_owned()))
    });
    let pairs: Option<Merges> = pairs.collect();
    let pairs = pairs.context("a merge of tokenizer.ggml.merges is not made of two tokens")?;
    let model = BPE::builder().vocab_and_merges(vocabulary, pairs).build();
    let mut made = tokenizers::Tokenizer::new(model.map_err(|error| anyhow!("tokenizer.ggml.merges: {error}"))?);
    let (prefix_space, trimmed, by_words) = (false, true, true);
    let bytes = ByteLevel::new(prefix_space, trimmed, by_words);
    made.with_pre_tokenizer(Some(Sequence::new(vec![Digits::new(true).into(), bytes.into()])));
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_character() {
        let alphabet = alphabet();
        assert_eq!(alphabet.len(), 256);
        assert_eq!((alphabet[&'A'], alphabet[&'\u{120}'], alphabet[&'\u{10a}']), (b'A', b' ', b'\n'));
    }
}
