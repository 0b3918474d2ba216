//! Whether a rule set lets every path through, none, or some.
//!
//! Exact, not sampled: a path is any octet string that begins with `/`, so the question is one about languages. Each
//! rule is a small automaton over the normal form of paths; their product is searched for a path that is allowed and
//! for one that is refused. Most files are settled before that by the shortest paths that each rule matches. The
//! search has a limit; beyond it the answer is [`Coverage::Undetermined`].

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::rc::Rc;

use super::matcher::{Entry, RuleSet};
use super::parse::Directive;
use super::path::{Path, is_robots_txt};
use super::pattern::{Pattern, Shape};
use super::token::Matching;

/// States of the product automaton that are visited before a search gives up.
pub const STATE_LIMIT: usize = 4_096;

/// Places of single automata that are held before a search gives up: the bound on memory (12 octets each).
pub const PLACE_LIMIT: usize = 4_000_000;

/// Steps of single automata that are taken for one body before its searches give up: the bound on time.
pub const STEP_LIMIT: usize = 1_000_000;

/// The steps that are left for a body, however many rule sets it has.
#[derive(Debug, Clone)]
pub struct Budget {
    steps: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: STEP_LIMIT }
    }
}

impl Budget {
    /// So many steps.
    #[must_use]
    pub const fn of_steps(steps: usize) -> Self {
        Self { steps }
    }

    /// Takes steps; whether there were as many.
    const fn take(&mut self, steps: usize) -> bool {
        let is_enough = steps <= self.steps;
        self.steps = self.steps.saturating_sub(steps);
        is_enough
    }
}

/// Rules whose shortest paths are tried before the search.
const WITNESS_RULES: usize = 128;

/// An octet that no rule can hold, since it begins a comment: it stands for all that rules do not mention.
const UNMENTIONED: u8 = b'#';

/// How much of the space of paths a rule set lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// No path can be refused.
    Everything,
    /// No path can be allowed.
    Nothing,
    /// Some paths are allowed and some refused.
    Partial,
    /// The search gave up.
    Undetermined,
}

/// Whether the path `/robots.txt` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulesFile {
    /// It is allowed whatever the rules say (§2.2.2), so it tells nothing.
    IsExempt,
    /// It is a path like others.
    Counts,
}

impl RulesFile {
    /// Whether it counts in a mode.
    #[must_use]
    pub const fn of(matching: Matching) -> Self {
        if matching.exempts_robots_txt() { Self::IsExempt } else { Self::Counts }
    }
}

/// What has been found so far.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    allowed: bool,
    refused: bool,
}

impl Seen {
    const fn add(&mut self, directive: Directive) {
        match directive {
            Directive::Allow => self.allowed = true,
            Directive::Disallow => self.refused = true,
        }
    }

    const fn both(self) -> bool {
        self.allowed && self.refused
    }

    const fn coverage(self) -> Coverage {
        match (self.allowed, self.refused) {
            (_, false) => Coverage::Everything,
            (false, true) => Coverage::Nothing,
            (true, true) => Coverage::Partial,
        }
    }
}

/// How much a rule set lets through. The budget is that of the whole body.
#[must_use]
pub fn of_rules(rules: &RuleSet, rules_file: RulesFile, budget: &mut Budget) -> Coverage {
    let entries: Vec<Entry<'_>> = rules.entries().collect();
    let entries = deciding(&entries);
    if let Some(coverage) = at_a_glance(entries) {
        return coverage;
    }
    let seen = witnesses(rules, entries, rules_file);
    if seen.both() { Coverage::Partial } else { search(entries, rules_file, seen, budget) }
}

/// The rules down to the first that matches every path: those behind it never decide.
fn deciding<'e, 'r>(entries: &'e [Entry<'r>]) -> &'e [Entry<'r>] {
    let catch_all = entries.iter().position(|entry| entry.pattern.matches_everything());
    &entries[..catch_all.map_or(entries.len(), |place| place + 1)]
}

/// The answer where all deciding rules say the same.
fn at_a_glance(entries: &[Entry<'_>]) -> Option<Coverage> {
    let all = |directive| entries.iter().all(|entry| entry.hit.directive == directive);
    let last_matches_everything = entries.last().is_some_and(|entry| entry.pattern.matches_everything());
    if all(Directive::Allow) {
        Some(Coverage::Everything)
    } else if all(Directive::Disallow) && last_matches_everything {
        Some(Coverage::Nothing)
    } else {
        None
    }
}

/// Asks for the shortest paths of the first rules, with and without something behind them.
fn witnesses(rules: &RuleSet, entries: &[Entry<'_>], rules_file: RulesFile) -> Seen {
    let mut seen = Seen::default();
    let of_rules = entries.iter().take(WITNESS_RULES).flat_map(|entry| shortest_paths(entry.pattern));
    for path in [b"/".to_vec(), vec![b'/', UNMENTIONED]].into_iter().chain(of_rules) {
        if path.first() != Some(&b'/') || (rules_file == RulesFile::IsExempt && is_robots_txt(&path)) {
            continue;
        }
        seen.add(rules.decide(&Path::of(&path)).map_or(Directive::Allow, |hit| hit.directive));
        if seen.both() {
            break;
        }
    }
    seen
}

fn shortest_paths(pattern: Pattern<'_>) -> Vec<Vec<u8>> {
    let is_open = match pattern.shape() {
        Shape::Never => return Vec::new(),
        Shape::Prefix | Shape::Wildcard => true,
        Shape::Exact | Shape::AnchoredWildcard => false,
    };
    let short: Vec<u8> = pattern.pieces().flatten().copied().collect();
    let short = if short.first() == Some(&b'/') { short } else { [b"/", &short[..]].concat() };
    let longer = is_open.then(|| [&short[..], &[UNMENTIONED]].concat());
    [Some(short), longer].into_iter().flatten().collect()
}

/// Searches the product of the rules' automata, breadth first.
fn search(entries: &[Entry<'_>], rules_file: RulesFile, mut seen: Seen, budget: &mut Budget) -> Coverage {
    let product = Product::of(entries, rules_file);
    let start: Rc<[Place]> = product.step(&product.start(), b'/');
    let mut known = HashSet::from([Rc::clone(&start)]);
    let mut queue = VecDeque::from([start]);
    while let Some(state) = queue.pop_front() {
        if let Some(directive) = product.directive(&state) {
            seen.add(directive);
        }
        if seen.both() {
            return Coverage::Partial;
        }
        if state.iter().all(|place| matches!(place, Place::Dead | Place::Done)) {
            continue;
        }
        let is_within = known.len() <= STATE_LIMIT && known.len() * state.len() <= PLACE_LIMIT;
        if !is_within || !budget.take(product.alphabet.len() * state.len()) {
            return Coverage::Undetermined;
        }
        for octet in &product.alphabet {
            let next = product.step(&state, *octet);
            if known.insert(Rc::clone(&next)) {
                queue.push_back(next);
            }
        }
    }
    seen.coverage()
}

/// Where one rule's automaton stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// No longer path can match.
    Dead,
    /// Every longer path matches.
    Done,
    /// So many octets of a piece are matched.
    At { piece: u32, matched: u32 },
}

/// The automaton of one rule.
struct Machine<'a> {
    pieces: Vec<&'a [u8]>,
    /// For each piece, the longest proper border of each of its prefixes (Knuth, Morris and Pratt 1977).
    borders: Vec<Vec<u32>>,
    is_anchored: bool,
}

impl<'a> Machine<'a> {
    fn of(pattern: Pattern<'a>) -> Self {
        let is_anchored = match pattern.shape() {
            Shape::Never => return Self::new(Vec::new(), true),
            Shape::Prefix | Shape::Wildcard => false,
            Shape::Exact | Shape::AnchoredWildcard => true,
        };
        Self::new(pattern.pieces().collect(), is_anchored)
    }

    fn new(pieces: Vec<&'a [u8]>, is_anchored: bool) -> Self {
        let borders = pieces.iter().map(|piece| borders(piece)).collect();
        Self { pieces, borders, is_anchored }
    }

    fn start(&self) -> Place {
        if self.pieces.is_empty() { Place::Dead } else { self.settle(0, 0) }
    }

    /// Goes on to the next piece where this one is matched whole.
    fn settle(&self, mut piece: usize, mut matched: usize) -> Place {
        let last = self.pieces.len() - 1;
        while piece < last && matched == self.pieces[piece].len() {
            piece += 1;
            matched = 0;
        }
        let is_whole = piece == last && matched == self.pieces[last].len();
        let is_open_end = !self.is_anchored || (last > 0 && self.pieces[last].is_empty());
        if is_whole && is_open_end {
            return Place::Done;
        }
        Place::At { piece: small(piece), matched: small(matched) }
    }

    fn step(&self, place: Place, octet: u8) -> Place {
        let Place::At { piece, matched } = place else {
            return place;
        };
        let (piece, mut matched) = (piece as usize, matched as usize);
        let text = self.pieces[piece];
        if piece == 0 {
            return if text.get(matched) == Some(&octet) { self.settle(0, matched + 1) } else { Place::Dead };
        }
        loop {
            if text.get(matched) == Some(&octet) {
                return self.settle(piece, matched + 1);
            }
            if matched == 0 {
                return self.settle(piece, 0);
            }
            matched = self.borders[piece][matched - 1] as usize;
        }
    }

    fn accepts(&self, place: Place) -> bool {
        match place {
            Place::Dead => false,
            Place::Done => true,
            Place::At { piece, matched } => {
                let last = self.pieces.len() - 1;
                self.is_anchored && piece as usize == last && matched as usize == self.pieces[last].len()
            }
        }
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("bounded by the size limit")
}

fn borders(piece: &[u8]) -> Vec<u32> {
    let mut borders = vec![0u32; piece.len()];
    let mut length = 0usize;
    for place in 1..piece.len() {
        while length > 0 && piece[place] != piece[length] {
            length = borders[length - 1] as usize;
        }
        length += usize::from(piece[place] == piece[length]);
        borders[place] = small(length);
    }
    borders
}

/// All rules read the same path at once.
struct Product<'a> {
    /// In order of precedence.
    machines: Vec<Machine<'a>>,
    /// What each says; `None` for the exemption.
    directives: Vec<Option<Directive>>,
    alphabet: Vec<u8>,
}

impl<'a> Product<'a> {
    fn of(entries: &[Entry<'a>], rules_file: RulesFile) -> Self {
        let mut machines = Vec::with_capacity(entries.len() + 1);
        let mut directives = Vec::with_capacity(entries.len() + 1);
        if rules_file == RulesFile::IsExempt {
            machines.push(Machine::new(vec![b"/robots.txt"], true));
            directives.push(None);
        }
        machines.extend(entries.iter().map(|entry| Machine::of(entry.pattern)));
        directives.extend(entries.iter().map(|entry| Some(entry.hit.directive)));
        let mentioned = machines.iter().flat_map(|machine| machine.pieces.iter().copied().flatten().copied());
        let alphabet: BTreeSet<u8> = mentioned.chain([UNMENTIONED]).collect();
        Self { machines, directives, alphabet: alphabet.into_iter().collect() }
    }

    fn start(&self) -> Vec<Place> {
        self.machines.iter().map(Machine::start).collect()
    }

    fn step(&self, state: &[Place], octet: u8) -> Rc<[Place]> {
        self.machines.iter().zip(state).map(|(machine, place)| machine.step(*place, octet)).collect()
    }

    /// What is said about the path that led here; `None` where it is exempt.
    fn directive(&self, state: &[Place]) -> Option<Directive> {
        let first = self.machines.iter().zip(state).position(|(machine, place)| machine.accepts(*place));
        first.map_or(Some(Directive::Allow), |machine| self.directives[machine])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::parse::Robots;

    fn coverage(rules: &str, rules_file: RulesFile) -> Coverage {
        let body = format!("User-agent: *\n{}", rules.replace(", ", "\n"));
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        of_rules(&RuleSet::of_groups(&robots, &[0]), rules_file, &mut Budget::default())
    }

    #[test]
    fn named_cases() {
        use Coverage::{Everything, Nothing, Partial};
        for (rules, expected) in [
            ("Allow: /", Everything),
            ("Disallow: x", Everything),
            ("Disallow: /x, Allow: /x", Everything),
            ("Disallow: /x, Allow: /x*", Everything),
            ("Disallow: /xy, Allow: /x", Partial),
            ("Disallow: /xy, Allow: /*y*, Allow: /xy**", Everything),
            ("Disallow: /", Nothing),
            ("Disallow: *", Nothing),
            ("Disallow: /*", Nothing),
            ("Disallow: *$", Nothing),
            ("Disallow: /, Allow: /a", Partial),
            ("Disallow: /, Allow: /robots.txt$", Nothing),
            ("Disallow: /, Allow: /robots.txt", Partial),
            ("Disallow: /, Allow: *", Everything),
            ("Disallow: /$, Disallow: /*.$", Partial),
            ("Disallow: /**, Allow: /a, Disallow: /a*", Nothing),
            ("Disallow: /**, Allow: /ab, Disallow: /a*b", Nothing),
            ("Disallow: /, Allow: /ab$, Disallow: /a*b$", Nothing),
            ("Disallow: /*a*b$, Allow: /*b*, Allow: /*aaaab", Partial),
            ("Disallow: /*ab, Allow: /*b*a*, Allow: /a***", Partial),
        ] {
            assert_eq!(coverage(rules, RulesFile::IsExempt), expected, "{rules}");
        }
    }

    #[test]
    fn the_rules_file_may_count() {
        assert_eq!(coverage("Disallow: /, Allow: /robots.txt$", RulesFile::Counts), Coverage::Partial);
        assert_eq!(coverage("Disallow: /robots.txt$", RulesFile::IsExempt), Coverage::Everything);
        assert_eq!(coverage("Disallow: /robots.txt$", RulesFile::Counts), Coverage::Partial);
    }

    #[test]
    fn a_search_that_grows_without_end_gives_up() {
        let mut rules = String::from("Disallow: /");
        for pair in 0..12u8 {
            // Each allow is undone by a longer disallow, so that no witness settles the matter.
            let (a, b) = (char::from(b'a' + pair), char::from(b'A' + pair));
            rules += &format!(", Allow: /*{a}{a}*{b}{b}, Disallow: /*{a}{a}*{b}{b}*");
        }
        assert_eq!(coverage(&rules, RulesFile::IsExempt), Coverage::Undetermined);
    }

    #[test]
    fn a_spent_budget_is_no_answer() {
        let robots = Robots::parse(b"User-agent: *\nDisallow: /\nAllow: /robots.txt$\n", Matching::Rfc9309);
        let rules = RuleSet::of_groups(&robots, &[0]);
        let mut spent = Budget { steps: 3 };
        assert_eq!(of_rules(&rules, RulesFile::IsExempt, &mut spent), Coverage::Undetermined);
        assert_eq!(of_rules(&rules, RulesFile::IsExempt, &mut Budget::default()), Coverage::Nothing);
    }
}
