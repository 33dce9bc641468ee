// SPDX-License-Identifier: Apache-2.0
//! The pages of a cache: which are free, how many sequences use each, and what is in those that may be shared. Knows no
//! device. A sequence takes pages as it grows, out of a number that it was promised when it began, so that one that has
//! begun can always end.
use anyhow::{bail, ensure, Context as _, Result};
use std::collections::{HashMap, VecDeque};

/// Tokens of a page, unless told.
pub const USUAL_PAGE: usize = 16;

/// Refuses pages of too many tokens, and of none.
pub fn check_page(page: usize) -> Result<()> {
    ensure!((1..=1 << 16).contains(&page), "--page is {page}; 1 to 65536 can be");
    Ok(())
}

/// Whether a type of a cache is one of codes.
pub fn codes(name: &str) -> Result<bool> {
    ensure!(matches!(name, "bf16" | "e4m3"), "--cache is {name}; bf16 and e4m3 can be");
    Ok(name == "e4m3")
}

/// What a full page holds: its tokens, after those of the page before it, which is named by its serial number. No two
/// contents have the same number, so that what is found is right, and not only probable.
type Content = (u64, Vec<u32>);

/// The serial number of what is before the first page.
const NOTHING: u64 = 0;

#[derive(Default)]
struct Page {
    uses: usize,
    known: Option<Content>, // where it can be found by
}

/// The pages of one sequence, in order; `Pages::release` takes them back.
#[derive(Debug, Default)]
pub struct Held {
    pub pages: Vec<u32>,
    /// Tokens whose keys and values were there when it began.
    pub shared: usize,
    promised: usize, // pages that it may still take
    noted: usize,    // full pages that have a serial number
    last: u64,       // that of the last of these
}

pub struct Pages {
    size: usize,
    share: bool,
    all: Vec<Page>,
    free: VecDeque<u32>, // the next to be taken first; what they hold can be found until then
    promised: usize,
    known: HashMap<Content, (u32, u64)>, // page and serial number
    serial: u64,
}

impl Pages {
    /// So many pages of `size` tokens; with `share` sequences that begin alike have the full pages of that in common.
    pub fn new(count: u32, size: usize, share: bool) -> Pages {
        let all = (0..count).map(|_| Page::default()).collect();
        Pages { size, share, all, free: (0..count).collect(), promised: 0, known: HashMap::new(), serial: NOTHING }
    }

    /// Pages that nothing uses, promised ones among them.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// A page that nothing used.
    fn take(&mut self) -> Option<u32> {
        let number = self.free.pop_front()?;
        let page = &mut self.all[number as usize];
        page.uses = 1;
        if let Some(content) = page.known.take() {
            self.known.remove(&content);
        }
        Some(number)
    }

    /// One more use of a page, which may have been free.
    fn share(&mut self, number: u32) -> Result<()> {
        let page = self.all.get_mut(number as usize).with_context(|| format!("there is no page {number}"))?;
        if page.uses == 0 {
            self.free.retain(|&free| free != number);
        }
        page.uses += 1;
        Ok(())
    }

    /// One use less of a page; after the last it is free.
    fn give(&mut self, number: u32) -> Result<()> {
        let page = self.all.get_mut(number as usize).with_context(|| format!("there is no page {number}"))?;
        ensure!(page.uses > 0, "page {number} is free already");
        page.uses -= 1;
        if page.uses == 0 {
            self.free.push_back(number);
        }
        Ok(())
    }

    /// Begins a sequence that will have at most `most` tokens, with what is there of its first ones. At least one of
    /// these is left to be appended. None where it might not find pages as it grows.
    pub fn begin(&mut self, first: &[u32], most: usize) -> Result<Option<Held>> {
        let mut held = Held::default();
        let full = if self.share { first.len().saturating_sub(1) / self.size } else { 0 };
        for tokens in first.chunks_exact(self.size).take(full) {
            let Some(&(page, serial)) = self.known.get(&(held.last, tokens.to_vec())) else { break };
            self.share(page)?;
            held.pages.push(page);
            held.last = serial;
        }
        (held.noted, held.shared) = (held.pages.len(), held.pages.len() * self.size);
        let wanted = most.div_ceil(self.size).saturating_sub(held.pages.len());
        if self.promised + wanted > self.free.len() {
            self.release(held)?;
            return Ok(None);
        }
        held.promised = wanted;
        self.promised += wanted;
        Ok(Some(held))
    }

    /// Takes pages until there are enough for so many tokens; how many there were before.
    pub fn grow(&mut self, held: &mut Held, tokens: usize) -> Result<usize> {
        let before = held.pages.len();
        while held.pages.len() * self.size < tokens {
            ensure!(held.promised > 0, "a sequence has grown beyond the {} pages that it began with", held.pages.len());
            let Some(page) = self.take() else { bail!("promised pages are not there") };
            held.pages.push(page);
            held.promised -= 1;
            self.promised -= 1;
        }
        Ok(before)
    }

    /// Makes the full pages known: `tokens` are those of a sequence whose keys and values are in its pages.
    pub fn note(&mut self, held: &mut Held, tokens: &[u32]) {
        let full = tokens.len() / self.size;
        if !self.share {
            return;
        }
        for number in held.noted..full {
            let content = (held.last, tokens[number * self.size..][..self.size].to_vec());
            held.last = match self.known.get(&content) {
                Some(&(_, serial)) => serial, // another sequence was first; this page stays this sequence's own
                None => {
                    self.serial += 1;
                    self.known.insert(content.clone(), (held.pages[number], self.serial));
                    self.all[held.pages[number] as usize].known = Some(content);
                    self.serial
                }
            };
        }
        held.noted = held.noted.max(full);
    }

    /// Ends a sequence. Of its pages the last are taken again first: beginnings are what others may share.
    pub fn release(&mut self, held: Held) -> Result<()> {
        self.promised -= held.promised;
        held.pages.iter().rev().try_for_each(|&page| self.give(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(pages: &mut Pages, first: &[u32], most: usize) -> Held {
        let mut held = pages.begin(first, most).unwrap().expect("there is room");
        pages.grow(&mut held, first.len()).unwrap();
        pages.note(&mut held, first);
        held
    }

    #[test]
    fn pages_are_used_once_each_until_there_are_none() {
        let mut pages = Pages::new(3, 4, false);
        let mut taken: Vec<u32> = (0..3).map(|_| pages.take().unwrap()).collect();
        assert_eq!((pages.take(), pages.free()), (None, 0));
        taken.sort_unstable();
        assert_eq!(taken, [0, 1, 2]);
        pages.give(1).unwrap();
        assert_eq!((pages.take(), pages.take()), (Some(1), None));
    }

    #[test]
    fn what_is_not_used_cannot_be_given_back() {
        let mut pages = Pages::new(2, 4, false);
        let page = pages.take().unwrap();
        pages.give(page).unwrap();
        assert_eq!(pages.give(page).unwrap_err().to_string(), format!("page {page} is free already"));
        assert_eq!(pages.give(2).unwrap_err().to_string(), "there is no page 2");
        assert!(pages.share(2).is_err() && pages.give(1).is_err());
        assert_eq!(pages.free(), 2);
    }

    #[test]
    fn a_page_is_free_after_its_last_use() {
        let mut pages = Pages::new(1, 4, false);
        let page = pages.take().unwrap();
        pages.share(page).unwrap();
        pages.give(page).unwrap();
        assert_eq!((pages.free(), pages.take()), (0, None));
        pages.give(page).unwrap();
        assert_eq!(pages.free(), 1);
        pages.share(page).unwrap();
        assert_eq!((pages.free(), pages.take()), (0, None), "a free page can be used again as it is");
    }

    #[test]
    fn who_begins_has_a_promise_and_who_finds_none_waits() {
        let mut pages = Pages::new(4, 4, false);
        let mut one = pages.begin(&[1; 5], 9).unwrap().unwrap(); // 3 pages
        assert!(pages.begin(&[1], 5).unwrap().is_none(), "2 pages are not there, 4 being free and 3 promised");
        let two = pages.begin(&[1], 4).unwrap().unwrap();
        assert_eq!((pages.grow(&mut one, 5).unwrap(), pages.grow(&mut one, 9).unwrap(), one.pages.len()), (0, 2, 3));
        assert!(pages.grow(&mut one, 13).is_err(), "beyond its promise");
        pages.release(one).unwrap();
        pages.release(two).unwrap();
        assert!(pages.begin(&[1], 16).unwrap().is_some(), "everything has come back");
    }

    #[test]
    fn full_pages_that_begin_alike_are_shared() {
        let text: Vec<u32> = (0..12).collect();
        let mut pages = Pages::new(8, 4, true);
        let one = begin(&mut pages, &text, 12);
        let same = begin(&mut pages, &text, 12);
        assert_eq!((same.shared, &same.pages[..2]), (8, &one.pages[..2]), "a token is left to be appended");
        let longer = begin(&mut pages, &[&text[..], &[9]].concat(), 13);
        assert_eq!((longer.shared, &longer.pages[..3]), (12, &one.pages[..3]));
        let mut parts = begin(&mut pages, &[&text[4..], &[0]].concat(), 9);
        assert_eq!(parts.shared, 0, "the same tokens behind others are other content");
        pages.release(std::mem::take(&mut parts)).unwrap();
        for held in [one, same, longer] {
            pages.release(held).unwrap();
        }
        assert_eq!(pages.free(), 8);
        assert_eq!(begin(&mut pages, &text, 12).shared, 8, "what is free can be found until it is taken");
        let mut without = Pages::new(8, 4, false);
        let _one = begin(&mut without, &text, 12);
        assert_eq!(begin(&mut without, &text, 12).shared, 0);
    }

    #[test]
    fn what_is_shared_is_not_taken_from_promises() {
        let mut pages = Pages::new(3, 4, true);
        let old = begin(&mut pages, &[7; 9], 9);
        pages.release(old).unwrap();
        let promised = pages.begin(&[1; 5], 12).unwrap().unwrap();
        assert!(pages.begin(&[7; 9], 9).unwrap().is_none());
        pages.release(promised).unwrap();
        assert_eq!(begin(&mut pages, &[7; 9], 9).shared, 8);
    }

    /// Sequences that come, grow and go in any order: each page that is held keeps the tokens that belong there.
    #[test]
    fn in_any_order_pages_hold_what_their_sequences_have() {
        const SIZE: usize = 3;
        let mut state = 1u64;
        let mut chance = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let (mut pages, mut store) = (Pages::new(20, SIZE, true), vec![vec![0; SIZE]; 20]);
        let (mut live, mut shared) = (Vec::<(Held, Vec<u32>, usize, usize)>::new(), 0);
        for _ in 0..20_000 {
            if chance(3) == 0 {
                let text: Vec<u32> = (0..1 + chance(20)).map(|_| chance(2) as u32).collect();
                let Some(held) = pages.begin(&text, text.len()).unwrap() else { continue };
                shared += held.shared;
                let position = held.shared;
                live.push((held, text.clone(), position, text.len()));
            } else if !live.is_empty() {
                let at = chance(live.len() as u64) as usize;
                let (held, text, position, most) = &mut live[at];
                if position == most {
                    pages.release(live.swap_remove(at).0).unwrap();
                } else {
                    let end = (*position + 1 + chance(4) as usize).min(*most);
                    pages.grow(held, end).unwrap();
                    for i in *position..end {
                        store[held.pages[i / SIZE] as usize][i % SIZE] = text[i];
                    }
                    *position = end;
                    pages.note(held, &text[..end]);
                }
            }
            for (held, text, position, _) in &live {
                assert!((0..*position).all(|i| store[held.pages[i / SIZE] as usize][i % SIZE] == text[i]));
            }
        }
        live.into_iter().for_each(|(held, ..)| pages.release(held).unwrap());
        assert!(pages.free() == 20 && shared > 1000, "{} free, {shared} shared", pages.free());
    }
}
