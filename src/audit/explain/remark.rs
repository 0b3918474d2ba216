//! Findings that touch the answer for a crawler: those within the groups that apply, and those that put lines out of
//! every group.

use std::ops::Range;

use crate::robots::finding::{Code, Finding, Severity};
use crate::robots::group::Choice;
use crate::robots::parse::Robots;
use crate::tables::text::of_octets_cut;

/// Octets shown of what a finding is about.
const RAW_OCTETS: usize = 256;

/// A finding, as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where.
    pub line: u32,
    /// What.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence.
    pub message: &'static str,
    /// The text that it is about, cut behind 256 octets.
    pub raw: String,
}

/// The findings that touch what these groups say.
pub(super) fn of_groups(robots: &Robots<'_>, choice: &Choice<'_>) -> Vec<Remark> {
    let spans: Vec<Range<u32>> = choice.groups.iter().map(|group| span(robots, *group as usize)).collect();
    let is_within = |line: u32| spans.iter().any(|span| span.contains(&line));
    let touches = |finding: &&Finding<'_>| match finding.code {
        // What stands at or behind such lines belongs to nobody, or to the wrong group.
        Code::RuleOutsideGroup | Code::AgentWithoutToken | Code::MarkInside | Code::OverLimit | Code::MoreFindings => {
            true
        }
        _ => is_within(finding.line.into()),
    };
    robots.findings.iter().filter(touches).map(Remark::of).collect()
}

/// The lines of a group: from its first user-agent line up to the next group.
fn span(robots: &Robots<'_>, group: usize) -> Range<u32> {
    let first_line = |group: usize| robots.groups.get(group)?.agents.first().map(|(line, _)| u32::from(*line));
    first_line(group).unwrap_or(u32::MAX)..first_line(group + 1).unwrap_or(u32::MAX)
}

impl Remark {
    fn of(finding: &Finding<'_>) -> Self {
        Self {
            line: finding.line.into(),
            code: finding.code,
            severity: finding.code.severity(),
            message: finding.code.message(),
            raw: of_octets_cut(finding.raw, RAW_OCTETS).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::group::GroupIndex;
    use crate::robots::token::{Asked, Matching};

    #[test]
    fn findings_of_other_groups_do_not_touch_an_answer() {
        let body = b"Disallow: /1\nUser-agent: a\nDisalow: /2\nAllow: /\nUser-agent: b\nDisallow: x\n\
            User-agent: ?\nAllow: y\n";
        let robots = Robots::parse(body, Matching::Rfc9309);
        let index = GroupIndex::of(&robots);
        let told = |name| {
            let asked = Asked::named(name, Matching::Rfc9309).expect("a token");
            let remarks = of_groups(&robots, &index.choose(&asked));
            remarks.iter().map(|remark| (remark.line, remark.code)).collect::<Vec<_>>()
        };
        let (outside, nobody) = ((1, Code::RuleOutsideGroup), (7, Code::AgentWithoutToken));
        assert_eq!(told("b"), [outside, (6, Code::RuleNeverMatches), nobody]);
        assert_eq!(told("c"), [outside, nobody]);
        assert!(told("a").contains(&(3, Code::MisspeltField)));
    }
}
