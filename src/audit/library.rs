//! The compiled bodies of a run, each once, found by hash.

use std::collections::HashMap;

use super::compile::CompiledBody;
use crate::tables::fetches::BodyHash;

/// The place of a body in the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BodyId(u32);

impl BodyId {
    /// The body at this place, for whoever keeps bodies otherwise than a [`Library`].
    #[must_use]
    pub const fn at(place: u32) -> Self {
        Self(place)
    }

    /// The place.
    #[must_use]
    pub const fn place(self) -> u32 {
        self.0
    }
}

/// Compiled bodies by hash.
#[derive(Debug, Default)]
pub struct Library {
    bodies: Vec<CompiledBody>,
    places: HashMap<BodyHash, BodyId>,
}

impl Library {
    /// Adds a body.
    ///
    /// # Panics
    /// Beyond four billion bodies.
    pub fn add(&mut self, hash: BodyHash, body: CompiledBody) {
        let id = BodyId(u32::try_from(self.bodies.len()).expect("fewer than four billion bodies"));
        self.bodies.push(body);
        self.places.insert(hash, id);
    }

    /// The place of the body with this hash.
    #[must_use]
    pub fn find(&self, hash: &BodyHash) -> Option<BodyId> {
        self.places.get(hash).copied()
    }

    /// A body of this library.
    #[must_use]
    pub fn get(&self, id: BodyId) -> &CompiledBody {
        &self.bodies[id.0 as usize]
    }

    /// How many bodies there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }
}
