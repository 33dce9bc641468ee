// SPDX-License-Identifier: Apache-2.0
//! Reads GGUF files: values and tensors by name. Every length in the file is held against what is left of it, so that a
//! damaged file gives a sentence. Knows nothing of models.
//!
//! The format: "GGUF", version, two counts; then keys with values; then names, shapes, types and offsets of tensors;
//! then, aligned, their data. Numbers are little-endian.
use anyhow::{anyhow, bail, ensure, Context, Result};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// A value in front of the tensors, as far as a model needs it.
#[derive(Debug)]
pub enum Value {
    Integer(i64),
    Real(f32),
    Text(String),
    Integers(Vec<i64>),
    Texts(Vec<String>),
    /// Of a kind that nobody here asks for.
    Other,
}

/// The types of tensors that are read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    F32,
    Q4_1,
    Q8_0,
}

impl Kind {
    fn from_number(number: u32) -> Option<Kind> {
        match number {
            0 => Some(Kind::F32),
            3 => Some(Kind::Q4_1),
            8 => Some(Kind::Q8_0),
            _ => None,
        }
    }

    /// Bytes of a row of so many columns.
    pub fn row_bytes(self, columns: usize) -> usize {
        match self {
            Kind::F32 => columns * 4,
            Kind::Q4_1 => columns / 32 * 20,
            Kind::Q8_0 => columns / 32 * 34,
        }
    }
}

struct Entry {
    type_number: u32,
    rows: usize,
    columns: usize,
    offset: usize,
}

/// A tensor of one or two dimensions; a vector is one row.
pub struct Tensor<'a> {
    pub kind: Kind,
    pub rows: usize,
    pub columns: usize,
    pub data: &'a [u8],
}

/// A file in memory.
pub struct Gguf {
    file: Vec<u8>,
    values: HashMap<String, Value>,
    tensors: HashMap<String, Entry>,
    data: usize, // where the tensors' bytes begin
}

/// What is left to read.
struct Reader<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8]> {
        let left = &self.file[self.at..];
        let (taken, size) = (left.get(..count), self.file.len());
        let taken = taken.ok_or_else(|| anyhow!("the file ends in {what}: {count} bytes at {}, of {size}", self.at))?;
        self.at += count;
        Ok(taken)
    }

    fn word<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut word = [0; N];
        word.copy_from_slice(self.take(N, what)?);
        Ok(word)
    }

    fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.word(what)?))
    }

    fn size(&mut self, what: &str) -> Result<usize> {
        let size = u64::from_le_bytes(self.word(what)?);
        usize::try_from(size).with_context(|| format!("{what} of {size} bytes cannot be"))
    }

    fn text(&mut self, what: &str) -> Result<String> {
        let size = self.size(what)?;
        let bytes = self.take(size, what)?;
        String::from_utf8(bytes.to_vec()).with_context(|| format!("{what} is no UTF-8"))
    }

    /// A value that is no array.
    fn scalar(&mut self, type_number: u32) -> Result<Value> {
        let what = "a value";
        Ok(match type_number {
            0 | 7 => Value::Integer(self.word::<1>(what)?[0].into()),
            1 => Value::Integer(i8::from_le_bytes(self.word(what)?).into()),
            2 => Value::Integer(u16::from_le_bytes(self.word(what)?).into()),
            3 => Value::Integer(i16::from_le_bytes(self.word(what)?).into()),
            4 => Value::Integer(self.u32(what)?.into()),
            5 => Value::Integer(i32::from_le_bytes(self.word(what)?).into()),
            6 => Value::Real(f32::from_le_bytes(self.word(what)?)),
            8 => Value::Text(self.text(what)?),
            10 => i64::try_from(u64::from_le_bytes(self.word(what)?)).map_or(Value::Other, Value::Integer),
            11 => Value::Integer(i64::from_le_bytes(self.word(what)?)),
            12 => self.take(8, what).map(|_| Value::Other)?,
            _ => bail!("a value has type {type_number}, which is none"),
        })
    }

    fn array(&mut self) -> Result<Value> {
        let (type_number, count) = (self.u32("an array")?, self.size("an array")?);
        let (mut texts, mut integers) = (Vec::new(), Vec::new());
        for _ in 0..count {
            match self.scalar(type_number)? {
                Value::Text(text) => texts.push(text),
                Value::Integer(integer) => integers.push(integer),
                _ => {}
            }
        }
        Ok(match type_number {
            8 => Value::Texts(texts),
            0..=5 | 7 | 10 | 11 => Value::Integers(integers),
            _ => Value::Other,
        })
    }

    fn value(&mut self) -> Result<(String, Value)> {
        const ARRAY: u32 = 9;
        let (key, type_number) = (self.text("a key")?, self.u32("the type of a value")?);
        let value = if type_number == ARRAY { self.array() } else { self.scalar(type_number) };
        let value = value.with_context(|| format!("in {key}"))?;
        Ok((key, value))
    }

    fn tensor(&mut self) -> Result<(String, Entry)> {
        let what = "the list of tensors";
        let (name, dimensions) = (self.text(what)?, self.u32(what)?);
        ensure!((1..=2).contains(&dimensions), "tensor {name} has {dimensions} dimensions; a Llama's have 1 or 2");
        let columns = self.size(what)?;
        let rows = if dimensions == 2 { self.size(what)? } else { 1 };
        let (type_number, offset) = (self.u32(what)?, self.size(what)?);
        Ok((name, Entry { type_number, rows, columns, offset }))
    }
}

impl Gguf {
    pub fn open(path: &Path) -> Result<Gguf> {
        let file = std::fs::read(path).with_context(|| path.display().to_string())?;
        Gguf::parse(file).with_context(|| path.display().to_string())
    }

    pub fn parse(file: Vec<u8>) -> Result<Gguf> {
        let mut reader = Reader { file: &file, at: 0 };
        ensure!(reader.take(4, "the first word")? == b"GGUF", "this is no GGUF file");
        let version = reader.u32("the version")?;
        ensure!((2..=3).contains(&version), "GGUF version {version} is not supported; 2 and 3 are");
        let (tensor_count, value_count) = (reader.size("the counts")?, reader.size("the counts")?);
        let (mut values, mut tensors) = (HashMap::new(), HashMap::new());
        for _ in 0..value_count {
            values.extend([reader.value()?]);
        }
        for _ in 0..tensor_count {
            tensors.extend([reader.tensor()?]);
        }
        let alignment = match values.get("general.alignment") {
            None => 32,
            Some(Value::Integer(n)) if (1..=1 << 20).contains(n) => *n as usize,
            Some(other) => bail!("general.alignment is {other:?}"),
        };
        let data = reader.at.next_multiple_of(alignment);
        Ok(Gguf { file, values, tensors, data })
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    pub fn integer(&self, key: &str, allowed: Range<i64>) -> Result<usize> {
        match self.get(key) {
            Some(Value::Integer(n)) if allowed.contains(n) => Ok(*n as usize),
            Some(Value::Integer(n)) => bail!("{key} is {n}; from {} to below {} can be", allowed.start, allowed.end),
            _ => bail!("the file does not say {key} as an integer"),
        }
    }

    pub fn real(&self, key: &str) -> Result<f32> {
        match self.get(key) {
            Some(Value::Real(x)) => Ok(*x),
            _ => bail!("the file does not say {key} as a real number"),
        }
    }

    pub fn text(&self, key: &str) -> Result<&str> {
        match self.get(key) {
            Some(Value::Text(text)) => Ok(text),
            _ => bail!("the file does not say {key} as a text"),
        }
    }

    pub fn texts(&self, key: &str) -> Result<&[String]> {
        match self.get(key) {
            Some(Value::Texts(texts)) => Ok(texts),
            _ => bail!("the file does not say {key} as a list of texts"),
        }
    }

    pub fn integers(&self, key: &str) -> Result<&[i64]> {
        match self.get(key) {
            Some(Value::Integers(integers)) => Ok(integers),
            _ => bail!("the file does not say {key} as a list of integers"),
        }
    }

    pub fn tensor_count(&self) -> usize {
        self.tensors.len()
    }

    pub fn has_tensor(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The tensor of this name and shape.
    pub fn tensor(&self, name: &str, rows: usize, columns: usize) -> Result<Tensor<'_>> {
        let entry = self.tensors.get(name).with_context(|| format!("the file has no tensor {name}"))?;
        ensure!(
            (entry.rows, entry.columns) == (rows, columns),
            "tensor {name} is [{}, {}]; [{rows}, {columns}] is wanted",
            entry.rows,
            entry.columns
        );
        let number = entry.type_number;
        let kind = Kind::from_number(number)
            .with_context(|| format!("tensor {name} is of type {number}; F32 (0), Q4_1 (3) and Q8_0 (8) can be"))?;
        ensure!(kind == Kind::F32 || columns % 32 == 0, "tensor {name} has rows of {columns}, no multiple of 32");
        let begin = self.data.checked_add(entry.offset);
        let end = begin.and_then(|begin| begin.checked_add(kind.row_bytes(columns).checked_mul(rows)?));
        let data = begin.zip(end).and_then(|(begin, end)| self.file.get(begin..end));
        let data = data.with_context(|| format!("the file ends in tensor {name}"))?;
        Ok(Tensor { kind, rows, columns, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
    }

    /// A file with one value and one tensor, [2, 4] of F32.
    fn small() -> Vec<u8> {
        let mut file = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
        file.extend([text("layers"), 4u32.to_le_bytes().to_vec(), 7u32.to_le_bytes().to_vec()].concat());
        file.extend([text("weight"), 2u32.to_le_bytes().to_vec()].concat());
        file.extend([4u64.to_le_bytes(), 2u64.to_le_bytes()].concat());
        file.extend([0u32.to_le_bytes().to_vec(), 0u64.to_le_bytes().to_vec()].concat());
        file.resize(file.len().next_multiple_of(32) + 32, 5);
        file
    }

    #[test]
    fn values_and_tensors_are_found_by_name() {
        let gguf = Gguf::parse(small()).unwrap();
        assert_eq!(gguf.integer("layers", 1..100).unwrap(), 7);
        assert_eq!(gguf.tensor("weight", 2, 4).unwrap().data, [5; 32]);
        for refused in [gguf.integer("layers", 1..7).err(), gguf.real("layers").err(), gguf.text("none").err()] {
            assert!(refused.is_some());
        }
        assert!(gguf.tensor("weight", 4, 2).is_err());
    }

    #[test]
    fn a_file_cut_anywhere_is_refused() {
        let whole = small();
        for length in 0..whole.len() {
            let read = Gguf::parse(whole[..length].to_vec());
            assert!(read.and_then(|gguf| gguf.tensor("weight", 2, 4).map(|_| ())).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn no_damaged_byte_is_followed() {
        for at in 0..small().len() {
            let mut file = small();
            file[at] = 0xff;
            let _ = Gguf::parse(file).and_then(|gguf| gguf.tensor("weight", 2, 4).map(|_| ()));
        }
    }
}
