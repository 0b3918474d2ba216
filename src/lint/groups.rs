//! What groups do to each other: rules of the wildcard that a crawler's own group leaves behind, second groups for a
//! name, and search engines in a group of crawlers for AI.

use std::collections::{HashMap, HashSet};

use super::rules::{sample, shown};
use super::{File, Linter, Note, Notes};
use crate::crawlers::Purpose;
use crate::robots::coverage::{self, Budget, Coverage, RulesFile};
use crate::robots::finding::Code;
use crate::robots::group::GroupSource;
use crate::robots::lex::Line;
use crate::robots::matcher::RuleSet;
use crate::robots::parse::Directive;
use crate::robots::path::Path;
use crate::robots::token::Agent;
use crate::robots::verdict::Verdict;
use crate::signals::training::is_policy_token;

pub(super) fn check<'a>(linter: &Linter, file: &File<'a>, notes: &mut Notes<'a>) {
    let mut budget = Budget::default();
    star_rules(linter, file, &mut budget, notes);
    duplicates(file, notes);
    search_among_ai(linter, file, &mut budget, notes);
}

/// A user-agent line.
#[derive(Debug, Clone, Copy)]
struct Mention<'a> {
    line: Line,
    token: &'a [u8],
}

/// The first of the user-agent lines of some groups that names a token.
fn mention<'a>(file: &File<'a>, group: u32, token: &str) -> Option<Mention<'a>> {
    let agents = &file.robots.groups[group as usize].agents;
    agents.iter().find_map(|(line, agent)| match *agent {
        Agent::Token(found) if found.eq_ignore_ascii_case(token.as_bytes()) => {
            Some(Mention { line: *line, token: found })
        }
        _ => None,
    })
}

/// Rules looked at and paths asked about, over all groups of a body: beyond, no more findings come of it.
const STEPS: usize = 500_000;

/// Names listed in a finding.
const NAMES: usize = 3;

/// Groups that let a crawler where the wildcard's rules would not, though none of their rules speaks of it.
fn star_rules<'a>(linter: &Linter, file: &File<'a>, budget: &mut Budget, notes: &mut Notes<'a>) {
    let star = Star::of(file, budget);
    if star.closed.is_empty() {
        return;
    }
    let mut steps = STEPS;
    for (groups, tokens) in owners(linter, file) {
        let rules = groups.iter().map(|group| file.robots.groups[*group as usize].rules.len());
        let Some(rest) = steps.checked_sub(star.closed.len() + rules.sum::<usize>()) else { return };
        if notes.are_full() {
            return;
        }
        steps = rest;
        if let Some(note) = left_behind(file, &star, (groups, &tokens), budget) {
            notes.add(note);
        }
    }
}

/// The tokens with groups of their own that the wildcard would bind, those of the same groups together, in file order.
fn owners<'f>(linter: &Linter, file: &'f File<'_>) -> Vec<(&'f [u32], Vec<&'f str>)> {
    let mut owners: Vec<(&[u32], Vec<&str>)> = Vec::new();
    let mut places: HashMap<&[u32], usize> = HashMap::new();
    let stars: HashSet<u32> = file.index.star().iter().copied().collect();
    for token in file.index.tokens() {
        let crawler = linter.registry.get(token);
        let is_bound = crawler.map_or(!is_policy_token(token.as_bytes()), |crawler| crawler.star_applies);
        let groups = file.naming(token);
        if !is_bound || groups.iter().any(|group| stars.contains(group)) {
            continue;
        }
        let place = *places.entry(groups).or_insert_with(|| {
            owners.push((groups, Vec::new()));
            owners.len() - 1
        });
        owners[place].1.push(token);
    }
    owners.sort_by_key(|(groups, _)| groups.first().copied());
    owners
}

/// What the wildcard closes.
struct Star {
    /// A path of each rule that closes some paths, not all, and the place of the rule.
    closed: Vec<(Vec<u8>, u32)>,
}

impl Star {
    fn of(file: &File<'_>, budget: &mut Budget) -> Self {
        let rules = RuleSet::of_groups(&file.robots, file.index.star());
        // Where the wildcard may nothing, a group of one's own is an invitation.
        if coverage::of_rules(&rules, RulesFile::IsExempt, budget) == Coverage::Nothing {
            return Self { closed: Vec::new() };
        }
        let is_closed = |path: &Vec<u8>| !Verdict::of_path(&rules, GroupSource::Star, &Path::of(path)).is_allowed();
        let entries = rules.entries().filter(|entry| !entry.pattern.matches_everything());
        let closed = entries.filter_map(|entry| Some((sample(&entry).filter(is_closed)?, entry.hit.rule)));
        let mut closed: Vec<_> = closed.collect();
        closed.sort_by_key(|(_, rule)| *rule);
        Self { closed }
    }
}

fn left_behind<'a>(
    file: &File<'a>,
    star: &Star,
    (groups, tokens): (&[u32], &[&str]),
    budget: &mut Budget,
) -> Option<Note<'a>> {
    let rules = RuleSet::of_groups(&file.robots, groups);
    let coverage = coverage::of_rules(&rules, RulesFile::IsExempt, budget);
    if coverage == Coverage::Nothing {
        return None;
    }
    let everything: HashSet<u32> =
        rules.entries().filter(|entry| entry.pattern.matches_everything()).map(|entry| entry.hit.rule).collect();
    // An allow line that speaks of the path is no oversight.
    let is_left = |path: &[u8]| {
        let hit = Verdict::of_path(&rules, GroupSource::Named, &Path::of(path)).hit();
        hit.is_none_or(|hit| hit.directive == Directive::Allow && everything.contains(&hit.rule))
    };
    let left: Vec<u32> = star.closed.iter().filter(|(path, _)| is_left(path)).map(|(_, rule)| *rule).collect();
    let first = &file.robots.rules[*left.first()? as usize];
    let mentions = mentions(file, *groups.first()?, tokens);
    let mention = mentions.first()?;
    let opens = |group: &u32| {
        let (line, _) = file.robots.groups[*group as usize].agents[0];
        file.opens_explicitly(line)
    };
    let is_on_purpose = coverage == Coverage::Everything && (!everything.is_empty() || groups.iter().any(opens));
    let code = if is_on_purpose { Code::StarRulesLifted } else { Code::StarRulesLeftBehind };
    let (others, binds) = match left.len() - 1 {
        0 => (String::new(), "does"),
        1 => (" and 1 more rule".to_owned(), "do"),
        more => (format!(" and {more} more rules"), "do"),
    };
    let tokens = names(&mentions, tokens.len());
    let detail = format!("`{}` (line {}){others} of * {binds} not bind {tokens}", shown(first), first.line);
    Some(Note::new(mention.line, code, mention.token).detail(detail))
}

/// The first user-agent lines of a group with one of some tokens, which are in lower case and ascending.
fn mentions<'a>(file: &File<'a>, group: u32, tokens: &[&str]) -> Vec<Mention<'a>> {
    let is_one = |token: &[u8]| {
        let lower = token.to_ascii_lowercase();
        tokens.binary_search_by(|token| token.as_bytes().cmp(&lower)).is_ok()
    };
    let named = file.robots.groups[group as usize].agents.iter().filter_map(|(line, agent)| match *agent {
        Agent::Token(token) if is_one(token) => Some(Mention { line: *line, token }),
        _ => None,
    });
    named.take(NAMES).collect()
}

/// A few names, and how many more of all there are.
fn names(mentions: &[Mention<'_>], all: usize) -> String {
    let listed = mentions.iter().map(|mention| String::from_utf8_lossy(mention.token)).collect::<Vec<_>>().join(", ");
    match all.saturating_sub(mentions.len()) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// Names with more than one group, at their second.
fn duplicates<'a>(file: &File<'a>, notes: &mut Notes<'a>) {
    for token in file.index.tokens() {
        let [first, second, ..] = file.naming(token) else { continue };
        if notes.are_full() {
            return;
        }
        let places = mention(file, *first, token).zip(mention(file, *second, token));
        if let Some((first, second)) = places {
            let note = Note::new(second.line, Code::DuplicateGroup, second.token);
            notes.add(note.detail(format!("the first is in line {}", first.line)));
        }
    }
    let star_line = |group: u32| {
        let agents = &file.robots.groups[group as usize].agents;
        agents.iter().find(|(_, agent)| *agent == Agent::Star).map(|(line, _)| *line)
    };
    if let [first, second, ..] = file.index.star()
        && let Some((first, second)) = star_line(*first).zip(star_line(*second))
    {
        notes.add(Note::new(second, Code::DuplicateGroup, b"").detail(format!("the first is in line {first}")));
    }
}

/// Crawlers for AI in a group that make it one of them.
const AI_CRAWLERS: usize = 3;

/// Large search engines in groups that shut out crawlers for AI.
fn search_among_ai<'a>(linter: &Linter, file: &File<'a>, budget: &mut Budget, notes: &mut Notes<'a>) {
    let mut is_shut_out: HashMap<&str, bool> = HashMap::new();
    for group in &file.robots.groups {
        let mut for_ai = 0;
        let mut search: Vec<(Mention<'a>, &str)> = Vec::new();
        for (line, agent) in &group.agents {
            let Agent::Token(token) = *agent else { continue };
            let Some(crawler) = linter.registry.get(&String::from_utf8_lossy(token)) else { continue };
            if crawler.purpose.is_ai() {
                for_ai += 1;
            } else if crawler.purpose == Purpose::Search && crawler.is_common {
                search.push((Mention { line: *line, token }, crawler.token.as_str()));
            }
        }
        if for_ai < AI_CRAWLERS || for_ai * 2 < group.agents.len() {
            continue;
        }
        for (mention, name) in search {
            let may_nothing = || {
                let rules = RuleSet::of_groups(&file.robots, file.naming(name));
                coverage::of_rules(&rules, RulesFile::IsExempt, budget) == Coverage::Nothing
            };
            if *is_shut_out.entry(name).or_insert_with(may_nothing) {
                notes.add(Note::new(mention.line, Code::SearchCrawlerInAiGroup, mention.token).detail(name.to_owned()));
            }
        }
    }
}
