//! Each origin once, however often the lists name it.

use crate::origin::Origin;
use crate::source::mark::{Mark, MarkSet};

use super::{InputError, OriginItem, OriginLine};

/// What became of the lines of the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListCounts {
    /// Lines, rows and literal origins; headers do not count.
    pub lines: u64,
    /// Lines whose origin an earlier line named.
    pub duplicates: u64,
    /// Blank lines, comments and rows without a value.
    pub blank_or_comment: u64,
    /// Lines that name no http(s) origin.
    pub invalid: u64,
    /// Distinct origins.
    pub distinct: u64,
}

/// Origins seen so far: a mark each, never the text. No list can be written in which an origin hides another.
///
/// Many small sets instead of a large one: a set that grows holds both its old and its new table for a while, and that
/// would cost half as much again of everything.
#[derive(Debug)]
pub struct SeenOrigins {
    sets: Box<[MarkSet]>,
    count: usize,
}

/// Sets that origins are spread over.
const SETS: usize = 64;

impl Default for SeenOrigins {
    fn default() -> Self {
        Self { sets: (0..SETS).map(|_| MarkSet::default()).collect(), count: 0 }
    }
}

impl SeenOrigins {
    /// Adds an origin; whether it was new.
    pub fn insert(&mut self, origin: &Origin) -> bool {
        self.insert_text(origin.as_str())
    }

    /// Adds an origin, given as its text in normal form; whether it was new.
    pub fn insert_text(&mut self, origin: &str) -> bool {
        let mark = Mark::of_name(origin);
        let is_new = self.sets[mark.place(SETS)].insert(mark);
        self.count += usize::from(is_new);
        is_new
    }

    /// Whether the origin was added.
    #[must_use]
    pub fn contains(&self, origin: &Origin) -> bool {
        self.contains_text(origin.as_str())
    }

    /// Whether the text was added.
    #[must_use]
    pub fn contains_text(&self, origin: &str) -> bool {
        // Most runs resume nothing and leave nothing behind a limit: then no hash is needed.
        if self.is_empty() {
            return false;
        }
        let mark = Mark::of_name(origin);
        self.sets[mark.place(SETS)].contains(&mark)
    }

    /// How many were added.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The first line of each origin, and every line that names none.
#[derive(Debug)]
pub struct Distinct<I> {
    items: I,
    seen: SeenOrigins,
    counts: ListCounts,
}

impl<I> Distinct<I> {
    /// Drops from `items` what was there before.
    pub fn new(items: I) -> Self {
        Self { items, seen: SeenOrigins::default(), counts: ListCounts::default() }
    }

    /// What became of the lines read so far: `lines = duplicates + blank_or_comment + invalid + distinct`.
    #[must_use]
    pub fn counts(&self) -> ListCounts {
        self.counts
    }

    /// The origins seen so far.
    #[must_use]
    pub fn into_seen(self) -> SeenOrigins {
        self.seen
    }

    /// Counts an item; gives it back where it is a row of its own.
    fn sift(&mut self, item: OriginItem) -> Option<OriginLine> {
        self.counts.lines += 1;
        let OriginItem::Line(line) = item else {
            self.counts.blank_or_comment += 1;
            return None;
        };
        match &line.target {
            Err(_) => self.counts.invalid += 1,
            Ok(target) if self.seen.insert(&target.origin) => self.counts.distinct += 1,
            Ok(_) => {
                self.counts.duplicates += 1;
                return None;
            }
        }
        Some(line)
    }
}

impl<I: Iterator<Item = Result<OriginItem, InputError>>> Iterator for Distinct<I> {
    type Item = Result<OriginLine, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.items.next()? {
                Err(error) => return Some(Err(error)),
                Ok(item) => {
                    if let Some(line) = self.sift(item) {
                        return Some(Ok(line));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::OriginInputs;
    use super::*;

    #[test]
    fn the_first_line_stays_and_everything_is_counted() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text = "a.test\nhttps://A.test:443/x\n\n# c\nhttp://a.test\nno one\nno one\n,\na.test\n";
        std::fs::write(file.path(), text).expect("written");
        let inputs = OriginInputs::open(&[file.path().to_str().expect("a path").to_owned()], None).expect("a list");
        let mut distinct = Distinct::new(inputs);
        let lines: Vec<_> = distinct.by_ref().map(|line| line.expect("readable")).collect();
        let seen: Vec<_> = lines.iter().map(|line| (line.line, line.input.as_str())).collect();
        assert_eq!(seen, [(1, "a.test"), (5, "http://a.test"), (6, "no one"), (7, "no one"), (8, ",")]);
        let expected = ListCounts { lines: 9, duplicates: 2, blank_or_comment: 2, invalid: 3, distinct: 2 };
        assert_eq!(distinct.counts(), expected);
        let mut seen = distinct.into_seen();
        let origin = |text: &str| Origin::of_url(text.as_bytes()).expect("an origin");
        assert!(seen.contains(&origin("https://a.test")) && !seen.contains(&origin("https://b.test")));
        assert!(!seen.insert(&origin("a.test")) && seen.insert(&origin("b.test")));
        assert_eq!((seen.len(), seen.is_empty()), (3, false));
    }
}
