//! The deciding line among its neighbours, and the user-agent lines that lead to it.

use std::collections::BTreeSet;

use super::group::leads;
use crate::robots::group::GroupSource;
use crate::robots::lex::{Line, Lines, readable};
use crate::robots::matcher::Hit;
use crate::robots::parse::Robots;
use crate::robots::token::{Agent, Asked};
use crate::tables::text::of_octets_cut;

/// Lines shown before and behind the one that decides.
const NEIGHBOURS: u32 = 2;

/// Octets shown of a line.
const LINE_OCTETS: usize = 1_024;

/// A line of the file as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextLine {
    /// Its number.
    pub line: u32,
    /// Its text with its comment, cut behind 1,024 octets.
    pub text: String,
    /// Whether it decides.
    pub decides: bool,
}

/// The lines around the one that decides.
pub(super) fn around(body: &[u8], robots: &Robots<'_>, asked: &Asked, hit: Hit) -> Vec<ContextLine> {
    let deciding = u32::from(hit.line);
    let mut wanted: BTreeSet<u32> =
        (deciding.saturating_sub(NEIGHBOURS)..=deciding.saturating_add(NEIGHBOURS)).collect();
    let agent = agent_line(robots, asked, hit);
    wanted.extend(agent.map(u32::from));
    let octets = readable(body, robots.matching.parse_octets()).octets;
    let last = deciding.saturating_add(NEIGHBOURS);
    let lines = Lines::of(octets).with_comments().take_while(|(line, _)| u32::from(*line) <= last);
    let shown = |(line, text): (Line, &[u8])| ContextLine {
        line: line.into(),
        text: of_octets_cut(text, LINE_OCTETS).into_owned(),
        decides: line == hit.line,
    };
    let shown: Vec<ContextLine> = lines.filter(|(line, _)| wanted.contains(&u32::from(*line))).map(shown).collect();
    let agent = agent.map(u32::from);
    paragraph(shown)
        .into_iter()
        .filter(|line| line.is_near || Some(line.shown.line) == agent)
        .map(|line| line.shown)
        .collect()
}

/// A line, and whether no blank one parts it from the line that decides.
struct Near {
    shown: ContextLine,
    is_near: bool,
}

fn paragraph(lines: Vec<ContextLine>) -> Vec<Near> {
    let is_blank = |line: &ContextLine| line.text.trim_ascii().is_empty();
    let deciding = lines.iter().position(|line| line.decides).unwrap_or(0);
    let start = lines[..deciding].iter().rposition(is_blank).map_or(0, |blank| blank + 1);
    let end = lines.iter().skip(deciding).position(is_blank).map_or(lines.len(), |blank| deciding + blank);
    let near = |(place, shown)| Near { is_near: (start..end).contains(&place), shown };
    lines.into_iter().enumerate().map(near).collect()
}

/// The user-agent line that makes the group of a rule apply.
fn agent_line(robots: &Robots<'_>, asked: &Asked, hit: Hit) -> Option<Line> {
    let group = robots.groups.iter().find(|group| group.rules.contains(&(hit.rule as usize)))?;
    let line = |source| {
        let is_it = |agent: Agent<'_>| leads(asked, source, agent);
        group.agents.iter().find(|(_, agent)| is_it(*agent)).map(|(line, _)| *line)
    };
    line(GroupSource::Named).or_else(|| line(GroupSource::Fallback)).or_else(|| line(GroupSource::Star))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::token::Matching;
    use crate::robots::verdict::of_url;

    fn context(body: &str, path: &str) -> Vec<(u32, String, bool)> {
        let robots = Robots::parse(body.as_bytes(), Matching::Rfc9309);
        let asked = Asked::named("b", Matching::Rfc9309).expect("a token");
        let hit = of_url(&robots, &asked, path.as_bytes()).hit().expect("a rule decides");
        around(body.as_bytes(), &robots, &asked, hit)
            .into_iter()
            .map(|line| (line.line, line.text, line.decides))
            .collect()
    }

    #[test]
    fn neighbours_comments_and_the_line_that_names_the_crawler() {
        let body = "\n\nUser-agent: a\nUser-agent: b # me\n# one\n# two\n# three\nDisallow: /x # why\n\n\nAllow: /\n";
        let line = |line, text: &str, decides| (line, text.to_owned(), decides);
        assert_eq!(
            context(body, "/x"),
            [
                line(4, "User-agent: b # me", false),
                line(6, "# two", false),
                line(7, "# three", false),
                line(8, "Disallow: /x # why", true),
            ]
        );
        let apart = context("User-agent: *\nAllow: /\n\nDisallow: /x\n\nAllow: /y\n", "/x");
        assert_eq!(apart, [line(1, "User-agent: *", false), line(4, "Disallow: /x", true)]);
        assert_eq!(context("User-agent: *\nDisallow: /x", "/x").len(), 2);
    }
}
