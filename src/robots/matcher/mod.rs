//! A rule set: the merged rules of the groups that apply, compiled once and asked for many paths (§2.2.2).
//!
//! The rules stand in order of precedence, and the first that matches decides; that is all there is to know of the
//! answer. How the first is found is the business of a [`Tier`], chosen by what building and asking it cost (`cost`):
//!
//! | tier | literal rules | wildcards |
//! |---|---|---|
//! | constant | there is one answer for all paths | |
//! | scan | one after the other, a compare of eight octets in front | the same, and a look at octets and pairs that the path must have |
//! | sorted | binary search for the longest prefix (`literals`) | as in scan, down to the best literal |
//! | sparse, dense | as in sorted | those whose rarest piece an automaton finds in the path |

mod automaton;
mod cost;
mod literals;
mod probe;
mod rules;
mod scan;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use self::automaton::{Automaton, Transitions};
use self::cost::Size;
use self::literals::Literals;
use self::rules::{NO_PLACE, Place, Rules};
use self::scan::Scan;
use super::access::names;
use super::lex::Line;
use super::parse::{Directive, Robots};
use super::path::Path;
use super::pattern::Pattern;

/// The rule that decides about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Its line.
    pub line: Line,
    /// Whether it allows or disallows.
    pub directive: Directive,
    /// Its place in [`Robots::rules`](super::parse::Robots::rules).
    pub rule: u32,
}

/// One rule in a rule set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'r> {
    /// What it matches.
    pub pattern: Pattern<'r>,
    /// Octets of the normalised value, `*` and `$` included (§2.2.2).
    pub octets: u32,
    /// What it then says.
    pub hit: Hit,
}

names! {
    /// A way to find the first rule that matches; the answers of all are the same.
    pub enum Tier {
        /// One answer for all paths: no rule, or the first matches everything.
        Constant => "constant",
        /// Rules in order of precedence.
        Scan => "scan",
        /// Literals by binary search, then the wildcards that could beat the best.
        Sorted => "sorted",
        /// Wildcards by an automaton that is quick to build.
        Sparse => "sparse",
        /// Wildcards by an automaton that is quick to ask.
        Dense => "dense",
    }
}

/// Paths that a rule set is built for where nobody knows better: a few pages and the root.
pub const EXPECTED_PATHS: u64 = 32;

/// Merged rules in order of precedence: most octets first, allow before disallow, earlier line first.
///
/// The first rule that matches a path decides about it.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Rules,
    n_allow: u32,
    n_disallow: u32,
    engine: Engine,
    /// What took over while the rule set was in use; the last one that is there answers.
    promoted: [OnceLock<Box<Engine>>; PROMOTIONS],
    /// Paths that [`RuleSet::note_served`] was told of.
    served: AtomicU64,
}

/// How often a rule set in use may change its tier.
const PROMOTIONS: usize = 2;

/// Rule sets are equal where their rules are; the tier changes no answer.
impl PartialEq for RuleSet {
    fn eq(&self, other: &Self) -> bool {
        (self.n_allow, self.n_disallow, &self.rules) == (other.n_allow, other.n_disallow, &other.rules)
    }
}

impl Eq for RuleSet {}

impl RuleSet {
    /// Merges and compiles the rules of some groups of a file, for [`EXPECTED_PATHS`].
    ///
    /// # Panics
    /// Where a place is none of the file's groups.
    #[must_use]
    pub fn of_groups(robots: &Robots<'_>, groups: &[u32]) -> Self {
        Self::for_paths(robots, groups, EXPECTED_PATHS)
    }

    /// The same, for another number of paths.
    ///
    /// # Panics
    /// Where a place is none of the file's groups.
    #[must_use]
    pub fn for_paths(robots: &Robots<'_>, groups: &[u32], expected_paths: u64) -> Self {
        let mut set = Self::unprepared(robots, groups);
        set.prepare(expected_paths);
        set
    }

    /// The same, with a tier that is set, or the next lower one that can serve these rules; see [`RuleSet::tier`].
    ///
    /// # Panics
    /// Where a place is none of the file's groups.
    #[must_use]
    pub fn with_tier(robots: &Robots<'_>, groups: &[u32], tier: Tier) -> Self {
        let mut set = Self::unprepared(robots, groups);
        set.engine = Engine::of(&set.rules, tier);
        set
    }

    fn unprepared(robots: &Robots<'_>, groups: &[u32]) -> Self {
        let ranges = groups.iter().map(|group| robots.groups[*group as usize].rules.clone());
        let rules = Rules::of(robots, ranges.clone());
        let valued = ranges.flat_map(|range| &robots.rules[range]).filter(|rule| !rule.value.is_empty());
        let (n_allow, n_disallow) = valued.fold((0, 0), |(allow, disallow), rule| match rule.directive {
            Directive::Allow => (allow + 1, disallow),
            Directive::Disallow => (allow, disallow + 1),
        });
        Self { rules, n_allow, n_disallow, ..Self::default() }
    }

    /// Takes the tier that is cheapest for so many paths, building included.
    pub fn prepare(&mut self, expected_paths: u64) {
        let tier = self.size().cheapest(expected_paths);
        if tier != self.engine.tier() {
            self.engine = Engine::of(&self.rules, tier);
        }
        self.promoted = Default::default();
    }

    /// Says that so many more paths were asked; where as many again would pay for a higher tier, that takes over.
    ///
    /// Meant for whoever asks in batches and does not know how many paths there will be.
    pub fn note_served(&self, paths: u64) {
        let served = self.served.fetch_add(paths, Ordering::Relaxed).saturating_add(paths);
        let tier = self.tier();
        let free = self.promoted.iter().find(|slot| slot.get().is_none());
        if let (Some(free), true) = (free, tier != Tier::Constant)
            && let Some(higher) = self.size().promotion(tier, served)
        {
            free.get_or_init(|| Box::new(Engine::of(&self.rules, higher)));
        }
    }

    /// The tier that answers now.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.engine().tier()
    }

    /// The rule that decides about a path, if any matches.
    #[must_use]
    pub fn decide(&self, path: &Path<'_>) -> Option<Hit> {
        match self.engine().first(&self.rules, path) {
            NO_PLACE => None,
            place => Some(self.rules.hit(place)),
        }
    }

    /// Every rule that matches a path, in order of precedence: one after the other, for a single question.
    ///
    /// A rule that stands for two (an index page and its folder, see [`google`](super::google)) may come twice.
    pub fn matching<'s>(&'s self, path: &'s Path<'_>) -> impl Iterator<Item = Entry<'s>> {
        self.entries().filter(|entry| entry.pattern.matches(path.octets()))
    }

    fn engine(&self) -> &Engine {
        self.promoted.iter().rev().find_map(OnceLock::get).map_or(&self.engine, |engine| engine)
    }

    fn size(&self) -> Size {
        let wildcards = self.rules.wildcards().count();
        Size { literals: self.rules.places().len() - wildcards, wildcards }
    }

    /// The rules that can match, in order of precedence.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        (0..self.rules.len()).map(|place| self.rules.entry(place))
    }

    /// Allow lines with a value, also those that can never match.
    #[must_use]
    pub const fn n_allow(&self) -> u32 {
        self.n_allow
    }

    /// Disallow lines with a value, also those that can never match.
    #[must_use]
    pub const fn n_disallow(&self) -> u32 {
        self.n_disallow
    }
}

/// A tier, built for some rules.
#[derive(Debug, Clone)]
enum Engine {
    /// The first rule, if there is one.
    Constant(Place),
    Scan(Scan),
    Sorted(Literals, Scan),
    Sparse(Literals, Automaton),
    Dense(Literals, Automaton),
}

impl Default for Engine {
    fn default() -> Self {
        Self::Constant(NO_PLACE)
    }
}

impl Engine {
    /// Builds a tier, or the next lower one that can serve these rules.
    fn of(rules: &Rules, tier: Tier) -> Self {
        if rules.len() == 0 {
            return Self::Constant(NO_PLACE);
        }
        if rules.pattern(0).matches_everything() {
            return Self::Constant(0);
        }
        let literals = || Literals::of(rules);
        let automaton = |transitions| Automaton::of(rules, transitions);
        match tier {
            Tier::Constant | Tier::Scan => Self::Scan(Scan::of(rules, rules.places())),
            Tier::Sorted => Self::Sorted(literals(), Scan::of(rules, rules.wildcards())),
            Tier::Sparse => match automaton(Transitions::Sparse) {
                Some(automaton) => Self::Sparse(literals(), automaton),
                None => Self::of(rules, Tier::Sorted),
            },
            Tier::Dense => match automaton(Transitions::Dense) {
                Some(automaton) => Self::Dense(literals(), automaton),
                None => Self::of(rules, Tier::Sparse),
            },
        }
    }

    const fn tier(&self) -> Tier {
        match self {
            Self::Constant(_) => Tier::Constant,
            Self::Scan(_) => Tier::Scan,
            Self::Sorted(..) => Tier::Sorted,
            Self::Sparse(..) => Tier::Sparse,
            Self::Dense(..) => Tier::Dense,
        }
    }

    /// The first rule that matches, else [`NO_PLACE`].
    fn first(&self, rules: &Rules, path: &Path<'_>) -> Place {
        match self {
            Self::Constant(place) => *place,
            Self::Scan(scan) => scan.first(rules, path, NO_PLACE),
            Self::Sorted(literals, wildcards) => wildcards.first(rules, path, literals.first(rules, path)),
            Self::Sparse(literals, wildcards) | Self::Dense(literals, wildcards) => {
                wildcards.first(rules, path, literals.first(rules, path))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::lex::PARSE_OCTETS;
    use crate::robots::token::Matching;

    fn decide(rules: &str, path: &str) -> Option<u32> {
        let body = format!("User-agent: *\n{rules}");
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let path = Path::of(path.as_bytes());
        let lines = Tier::ALL.iter().map(|tier| RuleSet::with_tier(&robots, &[0], *tier).decide(&path));
        let lines: Vec<Option<u32>> = lines.map(|hit| hit.map(|hit| hit.line.into())).collect();
        assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
        lines[0]
    }

    #[test]
    fn most_octets_then_allow_then_the_first_line() {
        assert_eq!(decide("Allow: /a\nDisallow: /a/b\n", "/a/b/c"), Some(3));
        assert_eq!(decide("Disallow: /*\nAllow: /$\n", "/"), Some(3));
        assert_eq!(decide("Disallow: /\nDisallow: /\n", "/x"), Some(2));
        assert_eq!(decide("Disallow: /x\n", "/y"), None);
    }

    #[test]
    fn all_that_match_begin_with_the_one_that_decides() {
        let robots =
            Robots::parse(b"User-agent: *\nAllow: /\nDisallow: /a\nAllow: /*b$\nAllow: /a\n", Matching::Rfc9309);
        let rules = RuleSet::of_groups(&robots, &[0]);
        let lines = |path| {
            let path = Path::of(path);
            let lines: Vec<u32> = rules.matching(&path).map(|entry| entry.hit.line.into()).collect();
            assert_eq!(rules.decide(&path).map(|hit| hit.line.into()), lines.first().copied());
            lines
        };
        assert_eq!(lines(b"/ab"), [4, 5, 3, 2]);
        assert_eq!(lines(b"/x"), [2]);
        assert!(lines(b"x").is_empty());
    }

    #[test]
    fn a_shorter_text_may_be_the_more_specific_rule() {
        assert_eq!(decide("Disallow: /a$$$b\nAllow: /a********\n", "/a%24%24%24b"), Some(3));
        assert_eq!(decide("Disallow: /x\nAllow: /a\nDisallow: /abc$\nAllow: /a*c\n", "/abc"), Some(4));
    }

    #[test]
    fn a_tier_that_cannot_serve_falls_back_visibly() {
        for (rules, tiers) in [
            ("", [Tier::Constant; 5]),
            ("Allow: /a\nDisallow: /*\nAllow: ***\n", [Tier::Constant; 5]),
            ("Allow: /a\n", [Tier::Scan, Tier::Scan, Tier::Sorted, Tier::Sorted, Tier::Sorted]),
            ("Allow: /*a\n", [Tier::Scan, Tier::Scan, Tier::Sorted, Tier::Sparse, Tier::Dense]),
        ] {
            let body = format!("User-agent: *\n{rules}");
            let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
            let found: Vec<Tier> =
                Tier::ALL.iter().map(|tier| RuleSet::with_tier(&robots, &[0], *tier).tier()).collect();
            assert_eq!(found, tiers, "{rules}");
        }
    }

    #[test]
    fn a_rule_set_in_use_is_promoted() {
        let rules: Vec<String> = (0..300).map(|rule| format!("Disallow: /*{rule}/x\nAllow: /{rule}\n")).collect();
        let rules = rules.concat();
        let body = format!("User-agent: *\n{rules}");
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let set = RuleSet::for_paths(&robots, &[0], 1);
        assert_eq!(set.tier(), Tier::Scan);
        let path = Path::of(b"/7/17/x");
        let hit = set.decide(&path);
        for _ in 0..1_000 {
            set.note_served(1_000);
        }
        assert_eq!((set.tier(), set.decide(&path)), (Tier::Dense, hit));
        assert_eq!(hit.map(|hit| hit.line.into()), Some(36));
    }

    /// Each of these would take hours where time grew with more than rules times octets of the path.
    #[test]
    fn the_worst_of_rules_and_paths_come_to_an_end() {
        let many = |rule: &dyn Fn(usize) -> String| (0..PARSE_OCTETS / 40).map(rule).collect::<Vec<_>>().concat();
        let bodies = [
            format!("Disallow: /{}b\n", "*".repeat(PARSE_OCTETS - 100)),
            format!("Disallow: /{}b\n", "*a".repeat(PARSE_OCTETS / 2 - 100)),
            many(&|rule| format!("Disallow: /*a*a*a*a*{rule}*b\n")),
            many(&|rule| format!("Disallow: /aaaaaaaaaaaaaaaa{rule}\n")),
            (1..900).map(|octets| format!("Disallow: /*{}*b\n", "a".repeat(octets))).collect::<Vec<_>>().concat(),
            (1..900).map(|octets| format!("Disallow: /{}\n", "a".repeat(octets))).collect::<Vec<_>>().concat(),
        ];
        let paths = [format!("/{}", "a".repeat(8_191)), format!("/b{}0", "a".repeat(8_190)), "/".repeat(8_192)];
        for body in bodies {
            let body = format!("User-agent: *\n{body}");
            let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
            let sets: Vec<RuleSet> = Tier::ALL.iter().map(|t| RuleSet::with_tier(&robots, &[0], *t)).collect();
            for path in &paths {
                let path = Path::of(path.as_bytes());
                assert!(sets.iter().all(|set| set.decide(&path) == sets[0].decide(&path)));
            }
        }
    }
}
