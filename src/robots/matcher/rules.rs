//! The rules of a rule set in order of precedence, as every tier reads them.

use std::ops::Range;

use super::{Entry, Hit};
use crate::robots::google::{self, Quirk};
use crate::robots::lex::Line;
use crate::robots::parse::{Directive, Robots, Rule};
use crate::robots::pattern::{self, Pattern, Shape, compile};
use crate::robots::token::Matching;

/// The place of a rule in its rule set: of two that match, the lower decides.
pub(super) type Place = u32;

/// Beyond every place.
pub(super) const NO_PLACE: Place = Place::MAX;

/// A compiled rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Compiled {
    text_start: u32,
    text_octets: u32,
    octets: u32,
    line: Line,
    rule: u32,
    directive: Directive,
    shape: Shape,
}

impl Compiled {
    /// `None` where it can never match. `place` is that of the rule in the file's list.
    fn of(compiled: &pattern::Compiled, rule: &Rule<'_>, place: usize) -> Option<Self> {
        let pattern::Compiled { shape, octets, text } = compiled;
        (*shape != Shape::Never).then(|| Self {
            text_start: small(text.start),
            text_octets: small(text.len()),
            octets: *octets,
            line: rule.line,
            rule: small(place),
            directive: rule.directive,
            shape: *shape,
        })
    }

    /// Sorts most octets first, then allow before disallow, then by line.
    fn precedence(&self) -> u64 {
        let is_disallow = u64::from(self.directive == Directive::Disallow);
        u64::from(!self.octets) << 32 | is_disallow << 31 | u64::from(u32::from(self.line)) & 0x7FFF_FFFF
    }
}

/// Compiled rules in order of precedence, without those that can never match, and their texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Rules {
    list: Box<[Compiled]>,
    texts: Box<[u8]>,
    deciding: usize,
}

impl Rules {
    /// Compiles rules of a file, given by their ranges in its list.
    pub(super) fn of(robots: &Robots<'_>, ranges: impl Iterator<Item = Range<usize>> + Clone) -> Self {
        let all = &robots.rules[..];
        let (form, index) = (robots.mode_of(Quirk::PathForm), robots.mode_of(Quirk::IndexHtml));
        let octets = ranges.clone().flat_map(|range| &all[range]).map(|rule| rule.value.len()).sum();
        let mut list = Vec::with_capacity(ranges.clone().map(|range| range.len()).sum());
        let mut texts = Vec::with_capacity(octets);
        for (place, rule) in ranges.flat_map(|range| range.clone().zip(&all[range])) {
            list.extend(Compiled::of(&compile(rule.value, form, &mut texts), rule, place));
            if index == Matching::Google
                && let Some(folder) = google::folder_of_index(rule)
            {
                list.extend(Compiled::of(&compile(&folder, form, &mut texts), rule, place));
            }
        }
        list.sort_unstable_by_key(Compiled::precedence);
        // A disallow line without a value takes its place among the others, and refuses nothing.
        list.iter_mut().rev().take_while(|rule| rule.octets == 0).for_each(|rule| rule.directive = Directive::Allow);
        let mut rules = Self { deciding: list.len(), list: list.into(), texts: texts.into() };
        rules.deciding = rules
            .places()
            .find(|place| rules.pattern(*place).matches_everything())
            .map_or(rules.len(), |place| place as usize + 1);
        rules
    }

    pub(super) const fn len(&self) -> usize {
        self.list.len()
    }

    /// Those down to the first that matches everything: the others never decide.
    pub(super) fn places(&self) -> Range<Place> {
        0..small(self.deciding)
    }

    /// The wildcards among them.
    pub(super) fn wildcards(&self) -> impl Iterator<Item = Place> {
        let is_wildcard = |place: &Place| matches!(self.shape(*place), Shape::Wildcard | Shape::AnchoredWildcard);
        self.places().filter(is_wildcard)
    }

    pub(super) fn pattern(&self, place: Place) -> Pattern<'_> {
        let rule = &self.list[place as usize];
        let start = rule.text_start as usize;
        Pattern::new(rule.shape, &self.texts[start..start + rule.text_octets as usize])
    }

    pub(super) fn shape(&self, place: Place) -> Shape {
        self.list[place as usize].shape
    }

    pub(super) fn text(&self, place: Place) -> &[u8] {
        self.pattern(place).text()
    }

    pub(super) fn hit(&self, place: Place) -> Hit {
        let Compiled { line, rule, directive, .. } = self.list[place as usize];
        Hit { line, directive, rule }
    }

    pub(super) fn entry(&self, place: usize) -> Entry<'_> {
        let place = small(place);
        Entry { pattern: self.pattern(place), octets: self.list[place as usize].octets, hit: self.hit(place) }
    }
}

pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).expect("bounded by the size limit of a body")
}
