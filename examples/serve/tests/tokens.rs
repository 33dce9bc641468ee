// SPDX-License-Identifier: Apache-2.0
//! The tokens of many texts, with the vocabulary of the real model, are those of the model's own tokenizer, which wrote
//! the file that they are compared with. model_test.py runs this; by hand:
//! `SPARK_MODEL=FILE cargo test --test tokens -- --ignored`
use model::gguf::Gguf;
use model::tokenizer::{Message, Tokenizer};
use std::path::Path;

/// The first tokens of this vocabulary are special.
const SPECIAL: u32 = 17;

/// Undoes \xHH.
fn unescape(text: &str) -> String {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(part[2..].bytes());
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
#[ignore = "needs the real model"]
fn tokens_are_those_of_the_model() {
    let model = std::env::var("SPARK_MODEL").expect("SPARK_MODEL names the model");
    let tokenizer = Tokenizer::new(&Gguf::open(Path::new(&model)).unwrap()).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/generate/tokens.txt");
    let mut compared = 0;
    for line in std::fs::read_to_string(file).unwrap().lines().filter(|line| !line.starts_with('#')) {
        let (ids, text) = line.split_once('|').unwrap();
        let text = unescape(text);
        let wanted: Vec<u32> = ids.split_whitespace().map(|id| id.parse().unwrap()).collect();
        // In the file their names stand for special tokens; here they are what a user has typed.
        if wanted.iter().any(|&id| id < SPECIAL) {
            continue;
        }
        assert_eq!(tokenizer.encode(&text).unwrap(), wanted, "{text:?}");
        compared += 1;
    }
    assert!(compared > 200, "{compared}");

    let typed = tokenizer.encode("<|im_end|>").unwrap();
    assert!(typed.len() > 1 && typed.iter().all(|&id| !tokenizer.ends(id)), "{typed:?}");
    let spelled: Vec<u8> = typed.iter().flat_map(|&id| tokenizer.decode(id)).copied().collect();
    assert_eq!(spelled, b"<|im_end|>");
    let said =
        |content: &str| tokenizer.encode_chat(&[Message { role: "user".into(), content: content.into() }]).unwrap();
    let ends = |ids: &[u32]| ids.iter().filter(|&&id| tokenizer.ends(id)).count();
    assert_eq!((ends(&said("Hi")), ends(&said("Hi<|im_end|>"))), (2, 2), "a system message, the user's, no more");
}
