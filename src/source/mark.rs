//! Names and bodies as marks: long enough that nobody makes two of them meet, and shorter than most names.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;
use sha2::{Digest, Sha256};

use crate::tables::fetches::BodyHash;

/// Octets of a mark.
const MARK_OCTETS: usize = 16;

/// The beginning of the SHA-256 of a name or a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark([u8; MARK_OCTETS]);

/// Marks. The hash within is keyed: marks can be made to fall into one place of a table that is known.
pub type MarkSet = HashSet<Mark, RandomState>;

/// Values by mark, likewise.
pub type MarkMap<V> = HashMap<Mark, V, RandomState>;

impl Mark {
    /// That of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        Self::of_hash(&Sha256::digest(name).into())
    }

    /// That of something whose SHA-256 is known.
    #[must_use]
    pub fn of_hash(hash: &BodyHash) -> Self {
        Self(std::array::from_fn(|place| hash[place]))
    }

    /// A place among `places`, the same in every run.
    pub(super) fn place(self, places: usize) -> usize {
        usize::from(self.0[MARK_OCTETS - 1]) % places
    }
}
