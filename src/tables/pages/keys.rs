//! How a builder collects a column of runs: each distinct value is kept once and named by its key.

use std::hash::Hash;

use ahash::RandomState;
use hashbrown::HashTable;

use super::runs::{NULL, Rows, Run, RunColumn, Texts, Values, push};

/// Keys of the values of a column, in the order of their first appearance. The hashes are seeded anew in each process,
/// since much of the text comes from outside; the keys do not depend on them.
#[derive(Debug, Clone, Default)]
struct Keys {
    table: HashTable<u32>,
    seed: RandomState,
    /// The key given out last: most values are the one before them.
    last: Option<u32>,
}

impl Keys {
    fn forget(&mut self) {
        self.table.clear();
        self.last = None;
    }
}

/// A column of text.
#[derive(Debug, Clone, Default)]
pub struct TextColumn {
    texts: Texts,
    keys: Keys,
    runs: Vec<Run>,
}

impl TextColumn {
    /// The key of a text, which is added where it is new.
    ///
    /// # Panics
    /// Where there are four billion texts.
    pub fn key(&mut self, text: &str) -> u32 {
        let Self { texts, keys, .. } = self;
        if let Some(last) = keys.last.filter(|last| texts.get(*last) == text.as_bytes()) {
            return last;
        }
        let hash = |text: &[u8]| keys.seed.hash_one(text);
        let found = keys.table.entry(
            hash(text.as_bytes()),
            |key| texts.get(*key) == text.as_bytes(),
            |key| hash(texts.get(*key)),
        );
        let new = small(texts.len());
        let key = *found.or_insert(new).get();
        if key == new {
            texts.push(text);
        }
        keys.last = Some(key);
        key
    }

    /// Adds rows of the text with this key, or [`NULL`].
    pub fn push(&mut self, key: u32, rows: u32) {
        push(&mut self.runs, key, rows);
    }

    /// Adds rows of a text or null.
    pub fn push_text(&mut self, text: Option<&str>, rows: u32) {
        let key = text.map_or(NULL, |text| self.key(text));
        self.push(key, rows);
    }

    /// The column. The builder is empty then.
    pub fn take(&mut self) -> RunColumn {
        self.keys.forget();
        let values = Values::Text(std::mem::take(&mut self.texts));
        RunColumn { values, rows: Rows::Runs(std::mem::take(&mut self.runs)) }
    }
}

/// A column of a closed set of words, of which only those that occur become values.
#[derive(Debug, Clone)]
pub struct WordColumn {
    words: Vec<&'static str>,
    /// For each word its key, or [`NULL`] where it has not occurred.
    keys: Vec<u32>,
    texts: Texts,
    runs: Vec<Run>,
}

impl WordColumn {
    /// A column over these words.
    #[must_use]
    pub fn of(words: impl IntoIterator<Item = &'static str>) -> Self {
        let words: Vec<_> = words.into_iter().collect();
        Self { keys: vec![NULL; words.len()], words, texts: Texts::default(), runs: Vec::new() }
    }

    /// Adds rows of the word at this place, or null.
    ///
    /// # Panics
    /// Where the place is outside the set.
    pub fn push(&mut self, place: Option<usize>, rows: u32) {
        let key = place.map_or(NULL, |place| self.key(place));
        push(&mut self.runs, key, rows);
    }

    fn key(&mut self, place: usize) -> u32 {
        if self.keys[place] == NULL {
            self.keys[place] = small(self.texts.len());
            self.texts.push(self.words[place]);
        }
        self.keys[place]
    }

    /// The column. The builder is empty then.
    pub fn take(&mut self) -> RunColumn {
        self.keys.fill(NULL);
        let values = Values::Text(std::mem::take(&mut self.texts));
        RunColumn { values, rows: Rows::Runs(std::mem::take(&mut self.runs)) }
    }
}

/// A column of numbers.
#[derive(Debug, Clone)]
pub struct NumberColumn<N> {
    numbers: Vec<N>,
    keys: Keys,
    runs: Vec<Run>,
}

impl<N> Default for NumberColumn<N> {
    fn default() -> Self {
        Self { numbers: Vec::new(), keys: Keys::default(), runs: Vec::new() }
    }
}

impl<N: Copy + Eq + Hash> NumberColumn<N> {
    /// Adds rows of a number or null.
    ///
    /// # Panics
    /// Where there are four billion numbers.
    pub fn push(&mut self, number: Option<N>, rows: u32) {
        let key = number.map_or(NULL, |number| self.key(number));
        push(&mut self.runs, key, rows);
    }

    fn key(&mut self, number: N) -> u32 {
        let Self { numbers, keys, .. } = self;
        if let Some(last) = keys.last.filter(|last| numbers[*last as usize] == number) {
            return last;
        }
        let hash = |number: N| keys.seed.hash_one(number);
        let new = small(numbers.len());
        let is_it = |key: &u32| numbers[*key as usize] == number;
        let key = *keys.table.entry(hash(number), is_it, |key| hash(numbers[*key as usize])).or_insert(new).get();
        if key == new {
            numbers.push(number);
        }
        keys.last = Some(key);
        key
    }

    fn take_with(&mut self, values: impl FnOnce(Vec<N>) -> Values) -> RunColumn {
        self.keys.forget();
        let values = values(std::mem::take(&mut self.numbers));
        RunColumn { values, rows: Rows::Runs(std::mem::take(&mut self.runs)) }
    }
}

impl NumberColumn<i32> {
    /// The column. The builder is empty then.
    pub fn take(&mut self) -> RunColumn {
        self.take_with(Values::Int32)
    }
}

impl NumberColumn<i64> {
    /// The column. The builder is empty then.
    pub fn take(&mut self) -> RunColumn {
        self.take_with(Values::Int64)
    }
}

fn small(key: usize) -> u32 {
    u32::try_from(key).ok().filter(|key| *key != NULL).expect("a row group has fewer than four billion values")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(column: &RunColumn) -> Vec<(u32, u32)> {
        let Rows::Runs(runs) = &column.rows else { panic!("runs") };
        runs.iter().map(|run| (run.key, run.rows)).collect()
    }

    #[test]
    fn equal_values_share_a_key_and_equal_neighbours_a_run() {
        let mut column = TextColumn::default();
        for (text, rows) in [(Some("a"), 3), (Some("a"), 2), (None, 1), (Some("b"), 1), (Some("a"), 1), (Some("c"), 0)]
        {
            column.push_text(text, rows);
        }
        assert_eq!(runs(&column.take()), [(0, 5), (NULL, 1), (1, 1), (0, 1)]);
        column.push_text(Some("b"), 1);
        let again = column.take();
        assert_eq!(runs(&again), [(0, 1)]);
        let Values::Text(texts) = again.values else { panic!("text") };
        assert_eq!((texts.len(), texts.get(0)), (1, &b"b"[..]));
    }

    #[test]
    fn only_words_that_occur_are_values() {
        let mut column = WordColumn::of(["x", "y", "z"]);
        column.push(Some(2), 4);
        column.push(Some(0), 1);
        column.push(Some(2), 1);
        let column = column.take();
        assert_eq!(runs(&column), [(0, 4), (1, 1), (0, 1)]);
        assert_eq!(column.values.len(), 2);
    }

    #[test]
    fn numbers_are_kept_once() {
        let mut column = NumberColumn::default();
        for number in [Some(7_i32), Some(-7), Some(7), None] {
            column.push(number, 2);
        }
        let column = column.take();
        assert_eq!(runs(&column), [(0, 2), (1, 2), (0, 2), (NULL, 2)]);
    }
}
