//! The bodies of snapshots: compressed on the disk, compiled when a row needs one, and so many octets of compiled ones in
//! memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::audit::compile::evidence;
use crate::audit::library::BodyId;
use crate::audit::plan::Plan;
use crate::robots::group::GroupIndex;
use crate::robots::parse::Robots;
use crate::robots::rule_sets::RuleSets;
use crate::signals::training::Training;
use crate::tables::fetches::BodyHash;

/// Level of the compression on the disk.
const ZSTD_LEVEL: i32 = 1;

/// Octets that a compiled body takes beside its rules.
const COMPILED_OCTETS: usize = 1024;

/// Octets that a rule takes in each rule set, beside its text.
const RULE_OCTETS: usize = 96;

/// What rows need of a body.
#[derive(Debug)]
pub(super) struct Compiled {
    /// The distinct rule sets of the plan's crawlers.
    pub(super) sets: RuleSets,
    /// For each rule of the file, in order: the line as evidence. None where no column shows rules.
    pub(super) evidence: Vec<Box<str>>,
    /// The training preference.
    pub(super) training: Training,
    octets: usize,
}

impl Compiled {
    fn of(plan: &Plan, body: &[u8], shows_rules: bool) -> Self {
        let robots = Robots::parse(body, plan.matching);
        let index = GroupIndex::of(&robots);
        let sets = RuleSets::of(&robots, &index, &plan.asked);
        let rules = |rules: u32| rules as usize * RULE_OCTETS;
        let in_sets = sets.list.iter().map(|set| rules(set.n_allow()) + rules(set.n_disallow())).sum::<usize>();
        let evidence: Vec<Box<str>> =
            if shows_rules { robots.rules.iter().map(|rule| evidence(rule).into()).collect() } else { Vec::new() };
        let in_evidence = evidence.iter().map(|text| text.len() + size_of::<Box<str>>()).sum::<usize>();
        let octets = COMPILED_OCTETS + in_sets + in_evidence + body.len();
        Self { evidence, training: Training::of(&robots, &index), sets, octets }
    }
}

/// Bodies being gathered, each once.
pub(super) struct Gathering {
    file: BufWriter<File>,
    places: Vec<Place>,
    known: HashMap<BodyHash, u32>,
    end: u64,
    compressor: zstd::bulk::Compressor<'static>,
}

/// Where a body stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: u64,
    octets: u32,
    body_octets: u32,
}

impl Gathering {
    /// Begins in a file without a name in a folder.
    pub(super) fn begin(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::with_capacity(1 << 20, tempfile::tempfile_in(folder)?),
            places: Vec::new(),
            known: HashMap::new(),
            end: 0,
            compressor: zstd::bulk::Compressor::new(ZSTD_LEVEL)?,
        })
    }

    /// Adds a body, unless it was added before.
    pub(super) fn add(&mut self, hash: BodyHash, body: &[u8]) -> io::Result<()> {
        if self.known.contains_key(&hash) {
            return Ok(());
        }
        let too_many = |_| io::Error::other("more than four billion bodies, or octets of a body");
        let packed = self.compressor.compress(body)?;
        self.file.write_all(&packed)?;
        let (octets, body_octets) =
            (u32::try_from(packed.len()).map_err(too_many)?, u32::try_from(body.len()).map_err(too_many)?);
        let id = u32::try_from(self.places.len()).map_err(too_many)?;
        self.places.push(Place { start: self.end, octets, body_octets });
        self.end += u64::from(octets);
        self.known.insert(hash, id);
        Ok(())
    }

    /// A body that was added.
    pub(super) fn find(&self, hash: &BodyHash) -> Option<BodyId> {
        self.known.get(hash).copied().map(BodyId::at)
    }

    /// All bodies; `cache_octets` of compiled ones are kept in memory.
    pub(super) fn finish(self, cache_octets: usize) -> io::Result<Bodies> {
        Ok(Bodies {
            file: Mutex::new(self.file.into_inner()?),
            places: self.places,
            cache: Mutex::new(Cache::new(cache_octets)),
            lookups: AtomicU64::new(0),
            compiled: AtomicU64::new(0),
        })
    }
}

/// The bodies.
#[derive(Debug)]
pub(super) struct Bodies {
    file: Mutex<File>,
    places: Vec<Place>,
    cache: Mutex<Cache>,
    lookups: AtomicU64,
    compiled: AtomicU64,
}

impl Bodies {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// How often a body was asked for, and how often it had to be compiled.
    pub(super) fn use_counts(&self) -> (u64, u64) {
        (self.lookups.load(Ordering::Relaxed), self.compiled.load(Ordering::Relaxed))
    }

    /// A body, compiled for a plan; every call has to name the same.
    pub(super) fn get(&self, id: BodyId, plan: &Plan, shows_rules: bool) -> io::Result<Arc<Compiled>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        if let Some(found) = self.locked_cache().find(id) {
            return Ok(found);
        }
        // Without the lock: two threads may compile the same body, and either's serves.
        let compiled = Arc::new(Compiled::of(plan, &self.read(id)?, shows_rules));
        self.compiled.fetch_add(1, Ordering::Relaxed);
        self.locked_cache().add(id, &compiled);
        Ok(compiled)
    }

    fn locked_cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        // Nothing within the lock leaves the cache half-changed in a way that matters: it only forgets.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, id: BodyId) -> io::Result<Vec<u8>> {
        let place = self.places[id.place() as usize];
        let mut packed = vec![0; place.octets as usize];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(place.start))?;
            file.read_exact(&mut packed)?;
        }
        zstd::bulk::decompress(&packed, place.body_octets as usize)
    }
}

/// Compiled bodies in two halves: what is asked for goes to the young one, and when that is full the old one is
/// forgotten. So at least the bodies asked for last, worth half of the octets, are there.
#[derive(Debug)]
struct Cache {
    limit_octets: usize,
    young: HashMap<u32, Arc<Compiled>, ahash::RandomState>,
    young_octets: usize,
    old: HashMap<u32, Arc<Compiled>, ahash::RandomState>,
}

impl Cache {
    fn new(limit_octets: usize) -> Self {
        Self { limit_octets, young: HashMap::default(), young_octets: 0, old: HashMap::default() }
    }

    fn find(&mut self, id: BodyId) -> Option<Arc<Compiled>> {
        if let Some(found) = self.young.get(&id.place()) {
            return Some(Arc::clone(found));
        }
        let found = self.old.remove(&id.place())?;
        self.add(id, &found);
        Some(found)
    }

    fn add(&mut self, id: BodyId, compiled: &Arc<Compiled>) {
        if self.young_octets + compiled.octets > self.limit_octets / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_octets = 0;
        }
        if self.young.insert(id.place(), Arc::clone(compiled)).is_none() {
            self.young_octets += compiled.octets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawlers::Registry;
    use crate::robots::access::Policy;
    use crate::robots::token::Matching;

    fn plan() -> Plan {
        let registry = Registry::embedded();
        let crawlers = registry.select("GPTBot").unwrap();
        Plan::new(registry, &crawlers, Policy::Rfc9309, Matching::Rfc9309, false)
    }

    #[test]
    fn bodies_come_back_and_few_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut gathering = Gathering::begin(folder.path()).unwrap();
        let body = |n: u8| format!("User-agent: *\nDisallow: /{n}\n");
        for n in (0..50).chain(0..50) {
            gathering.add([n; 32], body(n).as_bytes()).unwrap();
        }
        assert_eq!(gathering.find(&[7; 32]), Some(BodyId::at(7)));
        assert_eq!(gathering.find(&[99; 32]), None);
        let bodies = gathering.finish(20 * COMPILED_OCTETS).unwrap();
        assert_eq!(bodies.len(), 50);
        let plan = plan();
        for n in 0..50 {
            let compiled = bodies.get(BodyId::at(n), &plan, true).unwrap();
            assert_eq!(&*compiled.evidence[0], format!("Disallow: /{n}"));
            // The one asked for last stays.
            bodies.get(BodyId::at(n), &plan, true).unwrap();
        }
        assert_eq!(bodies.use_counts(), (100, 50));
        let kept = bodies.cache.lock().unwrap();
        assert!(kept.young.len() + kept.old.len() < 20);
    }
}
