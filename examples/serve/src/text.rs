// SPDX-License-Identifier: Apache-2.0
//! The text of an answer as it comes, token by token: whole characters only, and nothing of a text that stops it.

/// An answer that is being written.
#[derive(Default)]
pub struct Answer {
    stops: Vec<String>,
    /// The beginning of a character whose other bytes are still to come.
    bytes: Vec<u8>,
    /// What may turn out to be the beginning of a stop.
    held: String,
}

impl Answer {
    /// An answer that ends before any of these texts, none of which is empty.
    pub fn new(stops: Vec<String>) -> Answer {
        Answer { stops, ..Answer::default() }
    }

    /// Takes the bytes of a token. Gives what can be shown, and whether the answer ends here.
    pub fn push(&mut self, bytes: &[u8]) -> (String, bool) {
        self.bytes.extend_from_slice(bytes);
        self.take_characters();
        if let Some(at) = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str())).min() {
            self.held.truncate(at);
            return (std::mem::take(&mut self.held), true);
        }
        let kept = self.held.len() - self.stops.iter().map(|stop| overlap(&self.held, stop)).max().unwrap_or(0);
        let rest = self.held.split_off(kept);
        (std::mem::replace(&mut self.held, rest), false)
    }

    /// What is left when no more tokens come.
    pub fn finish(&mut self) -> String {
        self.held.push_str(&String::from_utf8_lossy(&self.bytes));
        self.bytes.clear();
        std::mem::take(&mut self.held)
    }

    /// Moves whole characters from `bytes` to `held`; what can be none becomes U+FFFD.
    fn take_characters(&mut self) {
        while let Err(error) = std::str::from_utf8(&self.bytes) {
            let Some(length) = error.error_len() else { break };
            let bad = error.valid_up_to() + length;
            self.held.push_str(&String::from_utf8_lossy(&self.bytes[..bad]));
            self.bytes.drain(..bad);
        }
        let whole = std::str::from_utf8(&self.bytes).map_or_else(|error| error.valid_up_to(), str::len);
        self.held.push_str(&String::from_utf8_lossy(&self.bytes[..whole]));
        self.bytes.drain(..whole);
    }
}

/// How many bytes at the end of a text are the beginning of `stop`.
fn overlap(text: &str, stop: &str) -> usize {
    let longest = text.len().min(stop.len() - 1);
    (1..=longest).rev().find(|&n| text.as_bytes().ends_with(&stop.as_bytes()[..n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(stops: &[&str], tokens: &[&[u8]]) -> (Vec<String>, bool) {
        let mut answer = Answer::new(stops.iter().map(|&stop| stop.to_owned()).collect());
        let mut pieces = Vec::new();
        for token in tokens {
            let (piece, stopped) = answer.push(token);
            pieces.push(piece);
            if stopped {
                return (pieces, true);
            }
        }
        pieces.push(answer.finish());
        (pieces, false)
    }

    #[test]
    fn a_character_comes_whole() {
        assert_eq!(told(&[], &[b"a\xe2\x82", b"\xac", b"b"]).0, ["a", "\u{20ac}", "b", ""]);
        assert_eq!(told(&[], &[b"\xe2\x82"]).0, ["", "\u{fffd}"]);
        assert_eq!(told(&[], &[b"\xe2\x82", b"x\xff\xffy"]).0, ["", "\u{fffd}x\u{fffd}\u{fffd}y", ""]);
    }

    #[test]
    fn nothing_of_a_stop_is_shown() {
        assert_eq!(told(&["stop"], &[b"a st", b"op b"]), (vec!["a ".into(), "".into()], true));
        assert_eq!(told(&["stop"], &[b"a st", b"art"]).0, ["a ", "start", ""]);
        assert_eq!(told(&["stop"], &[b"a st"]).0, ["a ", "st"]);
    }

    #[test]
    fn the_first_of_several_stops_counts() {
        assert_eq!(told(&["d", "bc"], &[b"abcd"]), (vec!["a".into()], true));
        assert_eq!(told(&["aab"], &[b"aa", b"ab"]), (vec!["".into(), "a".into()], true));
    }

    #[test]
    fn a_stop_may_begin_inside_a_character() {
        assert_eq!(told(&["\u{20ac}\u{20ac}"], &["\u{20ac}x".as_bytes()]).0, ["\u{20ac}x", ""]);
        assert_eq!(told(&["\u{20ac}!"], &["\u{20ad}".as_bytes()]).0, ["\u{20ad}", ""]);
    }
}
