//! Rules tried one after the other, each behind its probe.

use super::probe::Probe;
use super::rules::{Place, Rules};
use crate::robots::path::Path;

/// Some rules of a rule set, in order of precedence.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    places: Box<[(Place, Probe)]>,
}

impl Scan {
    pub(super) fn of(rules: &Rules, places: impl Iterator<Item = Place>) -> Self {
        Self { places: places.map(|place| (place, Probe::of(rules, place))).collect() }
    }

    /// The first rule that matches and stands before `before`; else `before`.
    pub(super) fn first(&self, rules: &Rules, path: &Path<'_>, before: Place) -> Place {
        for (place, probe) in &self.places {
            if *place >= before {
                break;
            }
            if probe.admits(path) && rules.pattern(*place).matches(path.octets()) {
                return *place;
            }
        }
        before
    }
}
