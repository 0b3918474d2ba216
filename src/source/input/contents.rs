//! What lists hold, noted while they are read: a list that is read twice has to be the same both times.
//!
//! Rows of a list that changed in between would be lost, or be rows of something else, and the counts of the second
//! reading alone cannot tell.

use sha2::{Digest, Sha256};

use super::InputError;
use crate::tables::column::hex;

/// What the lists of a run held when they were read to their ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    files: Vec<File>,
    /// SHA-256 of all values in order, in hexadecimal.
    pub sha256: String,
}

/// One file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct File {
    rows: u64,
    /// Of everything up to its end, so that the first file that differs is the one that changed.
    sha256: [u8; 32],
}

/// Notes what is read, and compares it with what is expected.
#[derive(Debug, Default)]
pub(super) struct Follower {
    digest: Sha256,
    /// Rows of the file at hand.
    rows: u64,
    files: Vec<File>,
    expected: Option<Contents>,
}

impl Follower {
    /// From the beginning on, everything has to be as it was.
    pub(super) fn expect(&mut self, contents: Contents) {
        self.expected = Some(contents);
    }

    /// Adds octets of a value.
    pub(super) fn add(&mut self, octets: &[u8]) {
        self.digest.update(octets);
    }

    /// Counts rows of the file at hand. One too many is known at once, before anything comes of it.
    pub(super) fn count(&mut self, rows: u64, place: &str) -> Result<(), InputError> {
        self.rows += rows;
        match self.expected_file() {
            Some(before) if self.rows > before.rows => Err(self.changed(before, place)),
            _ => Ok(()),
        }
    }

    /// The file at hand has come to its end.
    pub(super) fn end_file(&mut self, place: &str) -> Result<(), InputError> {
        let now = File { rows: self.rows, sha256: self.digest.clone().finalize().into() };
        if let Some(before) = self.expected_file().filter(|before| *before != now) {
            return Err(self.changed(before, place));
        }
        self.files.push(now);
        self.rows = 0;
        Ok(())
    }

    /// What was read so far.
    pub(super) fn contents(&self) -> Contents {
        Contents { files: self.files.clone(), sha256: hex(&self.digest.clone().finalize()) }
    }

    fn expected_file(&self) -> Option<File> {
        self.expected.as_ref()?.files.get(self.files.len()).copied()
    }

    fn changed(&self, before: File, place: &str) -> InputError {
        InputError::Changed { place: place.to_owned(), rows_before: before.rows, rows_now: self.rows }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OriginInputs, OriginItem, UrlInputs};

    fn names(folder: &std::path::Path) -> Vec<String> {
        ["a.txt", "b.txt"].map(|name| folder.join(name).to_string_lossy().into_owned()).to_vec()
    }

    #[test]
    fn the_list_that_changed_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        write("a.txt", "a.test\n# c\nb.test\n");
        write("b.txt", "c.test\nd.test\n");
        let open = || OriginInputs::open(&names(folder.path()), None).expect("lists");
        let mut first = open();
        assert_eq!(first.by_ref().flatten().count(), 5);
        let contents = first.contents();
        let again = || {
            let items: Result<Vec<OriginItem>, _> = open().expecting(contents.clone()).collect();
            items
                .map(|items| items.len())
                .map_err(|error| error.to_string().replace(folder.path().to_str().expect("text"), ""))
        };
        assert_eq!(again(), Ok(5));
        write("b.txt", "c.test\n");
        assert_eq!(again(), Err("/b.txt changed while it was in use: 2 rows at first, then 1".to_owned()));
        write("a.txt", "a.test\n# c\nb.test\n# d\nc.test\n");
        assert_eq!(again(), Err("/a.txt changed while it was in use: 3 rows at first, then more".to_owned()));
        write("a.txt", "a.test\n# c\nx.test\n");
        assert_eq!(again(), Err("/a.txt changed while it was in use: 3 rows, but not the same ones".to_owned()));
    }

    #[test]
    fn urls_are_followed_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        let urls = (0..20_000).map(|n| format!("https://a.test/{n}\n")).collect::<Vec<_>>().concat();
        write("a.txt", &urls);
        write("b.txt", "");
        let open = || UrlInputs::open(&names(folder.path()), None).expect("lists");
        let mut first = open();
        first.by_ref().for_each(|batch| assert!(batch.is_ok()));
        let contents = first.contents();
        assert!(open().expecting(contents.clone()).all(|batch| batch.is_ok()));
        write("a.txt", &urls[..urls.len() / 2]);
        let said = open().expecting(contents).find_map(Result::err).expect("an error").to_string();
        assert!(said.contains("a.txt changed while it was in use: 20000 rows at first, then "), "{said}");
    }
}
