//! Odd characters in rules, and rules that change nothing.

use std::collections::{HashMap, HashSet};

use super::{File, Note, Notes};
use crate::robots::finding::Code;
use crate::robots::lex::BYTE_ORDER_MARK;
use crate::robots::matcher::{Entry, RuleSet};
use crate::robots::parse::{Directive, Rule};
use crate::robots::pattern::Shape;

pub(super) fn check<'a>(file: &File<'a>, notes: &mut Notes<'a>) {
    file.robots.rules.iter().for_each(|rule| characters(rule, notes));
    without_effect(file, notes);
}

fn characters<'a>(rule: &Rule<'a>, notes: &mut Notes<'a>) {
    let value = rule.value;
    if let Some(dollar) = dollar_inside(value) {
        notes.add(Note::new(rule.line, Code::DollarInside, &value[dollar..]));
    }
    if let Some(first) = value.iter().position(|octet| !octet.is_ascii()) {
        let code = if std::str::from_utf8(value).is_ok() { Code::RawNonAscii } else { Code::InvalidUtf8 };
        if !value[first..].starts_with(BYTE_ORDER_MARK) {
            notes.add(Note::new(rule.line, code, &value[first..]));
        }
    }
    if let Some((escape, plain)) = needless_escape(value) {
        let written = String::from_utf8_lossy(escape).into_owned();
        let note = Note::new(rule.line, Code::NeedlessEscape, escape);
        notes.add(note.advice(format!("write `{}` for `{written}`", char::from(plain))));
    }
}

/// The first `$` that is not at the end.
fn dollar_inside(value: &[u8]) -> Option<usize> {
    let (_, before) = value.split_last()?;
    before.iter().position(|octet| *octet == b'$')
}

/// The first escape of a letter, a digit, `-`, `.`, `_` or `~`, and what it stands for.
fn needless_escape(value: &[u8]) -> Option<(&[u8], u8)> {
    let digit = |octet: u8| char::from(octet).to_digit(16);
    value.windows(3).find_map(|window| {
        let &[b'%', high, low] = window else { return None };
        let octet = u8::try_from(digit(high)? * 16 + digit(low)?).ok()?;
        let is_unreserved = octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~');
        is_unreserved.then_some((window, octet))
    })
}

/// Rules looked at, over all rule sets of a body, and comparisons of two of them: beyond, no more findings come of it.
const STEPS: usize = 2_000_000;

/// What makes a rule pointless in one rule set.
#[derive(Debug, Clone, Copy)]
struct Reason {
    code: Code,
    /// Place of the rule that makes it so.
    by: u32,
}

/// What is known of a rule in the rule sets that hold it.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    sets: u32,
    pointless: u32,
    reason: Option<Reason>,
}

/// Rules that never decide for anybody, or repeat one that does.
fn without_effect<'a>(file: &File<'a>, notes: &mut Notes<'a>) {
    let mut uses = vec![Use::default(); file.robots.rules.len()];
    let mut steps = STEPS;
    let mut known: HashSet<&[u32]> = HashSet::new();
    let of_tokens = file.index.tokens().map(|token| file.naming(token));
    for groups in std::iter::once(file.index.star()).chain(of_tokens) {
        if known.insert(groups) && !look_through(file, groups, &mut uses, &mut steps) {
            return;
        }
    }
    for (place, used) in uses.iter().enumerate() {
        let (Some(Reason { code, by }), true) = (used.reason, used.pointless == used.sets) else { continue };
        let (rule, other) = (&file.robots.rules[place], &file.robots.rules[by as usize]);
        let other_text = shown(other);
        notes.add(Note::new(rule.line, code, rule.value).detail(format!("line {}, `{other_text}`", other.line)));
    }
}

/// A rule as written, cut where it is long.
pub(super) fn shown(rule: &Rule<'_>) -> String {
    const OCTETS: usize = 80;
    let cut = if rule.value.len() > OCTETS { "…" } else { "" };
    let value = String::from_utf8_lossy(&rule.value[..rule.value.len().min(OCTETS)]);
    format!("{}: {value}{cut}", String::from_utf8_lossy(rule.key))
}

/// Notes for each rule of a rule set whether it is pointless there; false where there is no budget for it.
fn look_through(file: &File<'_>, groups: &[u32], uses: &mut [Use], steps: &mut usize) -> bool {
    let n_rules: usize = groups.iter().map(|group| file.robots.groups[*group as usize].rules.len()).sum();
    if !take(steps, n_rules) {
        return false;
    }
    let rules = RuleSet::for_paths(&file.robots, groups, 1);
    let mut first_of: HashMap<Vec<u8>, Entry<'_>> = HashMap::with_capacity(n_rules);
    let mut wide: Vec<Entry<'_>> = Vec::new();
    for entry in rules.entries() {
        let text = language(&entry);
        if !take(steps, wide.len()) {
            return false;
        }
        let same = first_of.get(&text).copied();
        let by = same.or_else(|| wide.iter().find(|wide| wide.pattern.matches(&text)).copied());
        let known = &mut uses[entry.hit.rule as usize];
        known.sets += 1;
        if let Some(reason) = by.and_then(|by| reason(file, &entry, &by)) {
            known.pointless += 1;
            known.reason = Some(reason);
        }
        // Only with a star in it does a rule come before others that match less.
        if file.robots.rules[entry.hit.rule as usize].value.contains(&b'*') {
            wide.push(entry);
        }
        first_of.entry(text).or_insert(entry);
    }
    true
}

fn take(steps: &mut usize, n: usize) -> bool {
    let is_enough = n <= *steps;
    *steps = steps.saturating_sub(n);
    is_enough
}

/// Why a rule is pointless, of which another that comes first matches everything that it does.
fn reason(file: &File<'_>, entry: &Entry<'_>, by: &Entry<'_>) -> Option<Reason> {
    let value = |entry: &Entry<'_>| file.robots.rules[entry.hit.rule as usize].value;
    if entry.hit.directive != by.hit.directive {
        return Some(Reason { code: Code::ShadowedRule, by: by.hit.rule });
    }
    // Two spellings of one path are there for readers that compare them as they stand.
    (value(entry) == value(by)).then_some(Reason { code: Code::DuplicateRule, by: by.hit.rule })
}

/// The paths of a rule as one text in which a star stands for anything: a star in another rule matches it, a literal
/// octet does not, so that this rule lies within any rule that matches the text.
fn language(entry: &Entry<'_>) -> Vec<u8> {
    let mut text = entry.pattern.pieces().collect::<Vec<_>>().join(&b'*');
    if matches!(entry.pattern.shape(), Shape::Prefix | Shape::Wildcard) {
        text.push(b'*');
    }
    text
}

/// A path that a rule matches.
pub(super) fn sample(entry: &Entry<'_>) -> Option<Vec<u8>> {
    let mut path: Vec<u8> = entry.pattern.pieces().flatten().copied().collect();
    if path.first() != Some(&b'/') {
        path.insert(0, b'/');
    }
    (entry.hit.directive == Directive::Disallow && entry.pattern.matches(&path)).then_some(path)
}
