// SPDX-License-Identifier: Apache-2.0
//! What `generate` and `serve` share: a Llama from a GGUF file behind libspark, its tokens, and its text.
pub mod gguf;
mod layer;
pub mod load;
pub mod pages;
pub mod shape;
pub mod step;
pub mod text;
pub mod tokenizer;
