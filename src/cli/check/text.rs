//! One answer in full, for people: who is asked, which group applies and why, which line decides and by what math.

use std::borrow::Cow;

use super::screen::{COLUMNS, Ink, Screen, counted, fitted, grouped, widest};
use super::words::{ink, parting, reason, training_words};
use super::{Checked, grid};
use crate::audit::explain::context::ContextLine;
use crate::audit::explain::group::AppliedGroups;
use crate::audit::explain::math::{Math, Tie};
use crate::audit::explain::remark::Remark;
use crate::audit::explain::usage::UsageFacts;
use crate::audit::explain::{Details, Explanation, Panel};
use crate::cli::show;
use crate::robots::access::{FetchClass, Policy};
use crate::robots::decision::DecisionSource;
use crate::robots::finding::Severity;
use crate::robots::group::GroupSource;
use crate::robots::token::Matching;
use crate::signals::fact::{Fact, FactKind};
use crate::tables::response_signals::HeaderFact;
use crate::tables::text::{for_people, of_octets_cut};

/// Rules that are listed of those that match.
const RULES_SHOWN: usize = 8;
/// Lines of a merged group that are shown.
const GROUP_LINES_SHOWN: usize = 12;
/// Findings that are shown.
const FINDINGS_SHOWN: usize = 6;
/// Line numbers that are named one by one.
const LINES_NAMED: usize = 4;
/// Facts of one kind that are shown.
const FACTS_SHOWN: usize = 3;
/// Octets of a fact that are looked at.
const FACT_OCTETS: usize = 1_024;

/// What was read, in a line or two.
pub(super) fn file(screen: &mut Screen, checked: &Checked<'_>) {
    let seen = &checked.answered.observation;
    let reason = seen.reason.map(|reason| format!(", {reason}")).unwrap_or_default();
    let mut text = format!("{}{reason}", seen.class);
    if let Some(status) = seen.status {
        text += &format!(", status {status}");
    }
    if let Some(robots) = checked.subject.robots() {
        text += if checked.answered.body.is_empty() { ", empty" } else { "" };
        text += &format!(", {}, {}", counted(robots.groups.len(), "group"), counted(robots.rules.len(), "rule"));
    }
    if checked.plan.policy != Policy::Rfc9309 || checked.plan.matching != Matching::Rfc9309 {
        text += &format!(" (policy {}, matching {})", checked.plan.policy, checked.plan.matching);
    }
    screen.put(Ink::Strong, &checked.answered.name).put(Ink::Plain, ": ").line(Ink::Plain, &text);
    if seen.class == FetchClass::OkSuspect {
        let is_read =
            if checked.plan.policy == Policy::Conservative { "does not read it" } else { "reads it all the same" };
        screen.line(Ink::Care, &format!("this is probably no robots.txt; the policy {is_read}"));
    }
    if let Some(cut) = checked.subject.cut() {
        let (limit, octets, rest) = (grouped(cut.limit_octets), grouped(cut.octets), grouped(cut.octets_lost));
        let text =
            format!("cut at {limit} octets of {octets}: the last {rest}, behind line {}, were not read", cut.last_line);
        screen.line(Ink::Care, &text);
    }
}

/// One answer with all that touches it: nothing else is shown.
pub(super) fn whole(
    screen: &mut Screen,
    checked: &Checked<'_>,
    panel: &Panel<'_>,
    common: &Panel<'_>,
    url: &str,
    place: usize,
) {
    explanation(screen, checked, panel, url, place);
    let crawler = &checked.plan.crawlers[place].token;
    let is_it = |known: &str| known.eq_ignore_ascii_case(crawler);
    screen.heading("Side by side");
    let known = || checked.common.crawlers.iter().map(|known| known.token.as_str());
    let name_columns = widest(known().chain([crawler.as_str()]));
    grid::crawlers(screen, checked.common, common, url, name_columns, is_it);
    if !known().any(is_it) {
        grid::crawler(screen, crawler, name_columns, true, &panel.explain(place, url.as_bytes()));
    }
    screen.heading(REPORTED);
    training(screen, checked, url);
    usage(screen, &panel.details(place, url.as_bytes()).usage);
}

/// The heading above what changes no answer.
const REPORTED: &str = "Reported, never applied";

/// One answer, and what led to it.
pub(super) fn explanation(screen: &mut Screen, checked: &Checked<'_>, panel: &Panel<'_>, url: &str, place: usize) {
    let explanation = panel.explain(place, url.as_bytes());
    let details = panel.details(place, url.as_bytes());
    let crawler = &checked.plan.crawlers[place].token;
    verdict(screen, url, crawler, &explanation, &details);
    for found in checked.subject.partings(checked.plan, url.as_bytes()).iter().filter(|p| p.crawler == place) {
        screen.line(Ink::Care, &parting(found));
    }
    if let Some(groups) = panel.groups(place) {
        why(screen, crawler, &groups);
        context(screen, &details.context);
        if let Some(math) = details.math.as_ref().filter(|math| math.n_matching > 0) {
            self::math(screen, math, &details.path);
        }
        group(screen, &groups);
    }
    remarks(screen, &details.remarks);
}

fn verdict(screen: &mut Screen, url: &str, crawler: &str, explanation: &Explanation, details: &Details) {
    screen.end();
    let decision = explanation.answer.decision;
    screen.put(ink(decision), decision.as_str()).put(Ink::Plain, "  ").put(Ink::Strong, &fitted(url, COLUMNS - 30));
    screen.put(Ink::Plain, "  for ").line(Ink::Strong, &fitted(crawler, COLUMNS / 2));
    if let (Some(rule), Some(hit)) = (&explanation.matched_rule, explanation.answer.hit) {
        screen.line(Ink::Plain, &format!("line {} decides: {}", hit.line, fitted(rule, COLUMNS - 20)));
    } else {
        screen.line(Ink::Plain, &without_rule(explanation.answer.source, details.math.as_ref()));
    }
    if details.math.is_some() && !url.ends_with(details.path.as_str()) {
        screen.line(Ink::Plain, &format!("compared as {}", fitted(&details.path, COLUMNS - 12)));
    }
}

/// What an answer rests on, where no rule decided.
fn without_rule(source: DecisionSource, math: Option<&Math>) -> String {
    let rules = match math.filter(|_| source == DecisionSource::NoMatch).map(|math| math.n_rules) {
        None => return reason(source).to_owned(),
        Some(0) => "the group has no rules".to_owned(),
        Some(1) => "the only rule of the group does not match".to_owned(),
        Some(rules) => format!("none of the {} rules of the group matches", grouped(rules)),
    };
    format!("{rules}, so nothing is forbidden")
}

/// Which group applies, and why.
fn why(screen: &mut Screen, crawler: &str, groups: &AppliedGroups) {
    let named = fitted(groups.named.as_deref().unwrap_or_default(), COLUMNS / 2);
    let crawler = &fitted(crawler, COLUMNS / 2);
    let lines = lines_named(&groups.agent_lines);
    let text = match groups.source {
        GroupSource::Named => format!("{named} has its own, {lines}"),
        GroupSource::Fallback => format!("none names {crawler}, which then obeys that of {named}, {lines}"),
        GroupSource::Star if crawler == "*" => format!("the wildcard itself, {lines}"),
        GroupSource::Star => format!("none names {crawler}, so the wildcard applies, {lines}"),
        GroupSource::None if !groups.star_applies => format!("none names {crawler}, which the wildcard does not bind"),
        GroupSource::None => format!("none names {crawler}, and there is no wildcard"),
    };
    screen.end();
    screen.put(Ink::Strong, &format!("Group ({})", groups.source)).put(Ink::Plain, ": ").line(Ink::Plain, &text);
    if groups.n_groups > 1 {
        screen.line(Ink::Plain, &format!("  {} groups are merged into one", groups.n_groups));
    }
    if groups.star_rules_left_behind > 0 {
        let left = counted(groups.star_rules_left_behind as usize, "rule");
        screen
            .line(Ink::Care, &format!("  {left} of * left behind: a crawler with a group of its own obeys that alone"));
    }
    if let Some(seconds) = groups.crawl_delay_s {
        screen.line(
            Ink::Plain,
            &format!("  Crawl-delay: {seconds} s between requests are asked for; reported, never applied"),
        );
    }
}

fn lines_named(lines: &[u32]) -> String {
    let named: Vec<String> = lines.iter().take(LINES_NAMED).map(ToString::to_string).collect();
    let more =
        if lines.len() > LINES_NAMED { format!(" and {} more", lines.len() - LINES_NAMED) } else { String::new() };
    format!("line{} {}{more}", if lines.len() == 1 { "" } else { "s" }, named.join(", "))
}

/// The deciding line among its neighbours.
fn context(screen: &mut Screen, lines: &[ContextLine]) {
    let Some(last) = lines.last() else { return };
    screen.end();
    let columns = last.line.to_string().len().max(4);
    let mut expected = lines[0].line;
    for line in lines {
        if line.line != expected {
            screen.right(Ink::Faint, "⋮", columns + 2).end();
        }
        expected = line.line + 1;
        let (mark, ink) = if line.decides { ("> ", Ink::Strong) } else { ("  ", Ink::Faint) };
        screen.put(ink, mark).right(ink, &line.line.to_string(), columns).put(Ink::Faint, " │ ");
        screen.line(if line.decides { Ink::Strong } else { Ink::Plain }, &fitted(&line.text, COLUMNS - 10));
    }
}

/// Every rule that matches, the longest first.
fn math(screen: &mut Screen, math: &Math, path: &str) {
    let path = fitted(path, COLUMNS - 40);
    let text = match (math.n_rules, math.n_matching) {
        (1, _) => format!("the only rule matches {path}"),
        (rules, 1) => format!("1 of {rules} rules matches {path}"),
        (rules, matching) => format!("{matching} of {rules} rules match {path}; most octets win"),
    };
    screen.end();
    screen.put(Ink::Strong, "The math").put(Ink::Plain, ": ").line(Ink::Plain, &text);
    screen.line(Ink::Faint, "  octets   line");
    for (place, rule) in math.matching.iter().take(RULES_SHOWN).enumerate() {
        let (mark, ink) = if place == 0 { ("> ", Ink::Strong) } else { ("  ", Ink::Plain) };
        screen.put(ink, mark).right(ink, &rule.octets.to_string(), 6).right(ink, &rule.line.to_string(), 7);
        screen.put(Ink::Plain, "  ").put(ink, &fitted(&rule.rule, COLUMNS - 30));
        match (place, rule.ties) {
            (0, _) => screen.line(Ink::Strong, "   decides"),
            (_, true) => screen.line(Ink::Care, "   as long"),
            (_, false) => screen.end(),
        }
    }
    if math.n_matching > RULES_SHOWN {
        screen.line(Ink::Faint, &format!("  … {} more", math.n_matching - RULES_SHOWN));
    }
    match math.tie {
        Some(Tie::AllowFirst) => screen.line(Ink::Care, "  a tie: of rules as long as each other, allow decides"),
        Some(Tie::EarlierLine) => {
            screen.line(Ink::Care, "  a tie: rules as long as each other say the same; the first is named");
        }
        None => {}
    }
}

/// The merged group, as far as it fits.
fn group(screen: &mut Screen, groups: &AppliedGroups) {
    if groups.merged.is_empty() {
        return;
    }
    screen.heading("What it obeys, as one group");
    let shown = if groups.merged.len() > GROUP_LINES_SHOWN + 1 { GROUP_LINES_SHOWN } else { groups.merged.len() };
    for line in &groups.merged[..shown] {
        screen.put(Ink::Plain, "  ").line(Ink::Plain, &fitted(&copyable(line), COLUMNS - 2));
    }
    if shown < groups.merged.len() {
        let more = counted(groups.merged.len() - shown, "more rule");
        screen.line(Ink::Faint, &format!("  … {more}: --merged prints them all"));
    }
}

/// A line to be copied: one that cannot be shown as it is becomes a comment, since its copy would be another rule.
fn copyable(line: &str) -> Cow<'_, str> {
    match for_people(line) {
        Cow::Borrowed(line) => Cow::Borrowed(line),
        Cow::Owned(shown) => Cow::Owned(format!("# with control octets: {shown}")),
    }
}

/// The merged groups and nothing else.
pub(super) fn merged(screen: &mut Screen, checked: &Checked<'_>) {
    let panel = checked.subject.panel(checked.plan);
    for place in checked.places() {
        if place > 0 {
            screen.end();
        }
        let groups = panel.groups(place);
        let lines = groups.as_ref().map_or(&[][..], |groups| &groups.merged);
        for line in lines {
            screen.line(Ink::Plain, &copyable(line));
        }
        if lines.is_empty() {
            let class = checked.answered.observation.class;
            let why =
                if groups.is_some() { "no group applies".to_owned() } else { format!("no file was read ({class})") };
            screen.line(Ink::Plain, &format!("# {}: {why}", checked.plan.crawlers[place].token));
        }
    }
}

/// Findings that touch the answer, the gravest first.
fn remarks(screen: &mut Screen, remarks: &[Remark]) {
    if remarks.is_empty() {
        return;
    }
    screen.heading("Findings that touch this answer");
    let rank = |remark: &&Remark| match remark.severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Info => 2,
    };
    let mut sorted: Vec<&Remark> = remarks.iter().collect();
    sorted.sort_by_key(rank);
    for remark in sorted.iter().take(FINDINGS_SHOWN) {
        let ink = if remark.severity == Severity::Info { Ink::Plain } else { Ink::Care };
        screen.put(Ink::Plain, "  line ").left(Ink::Plain, &remark.line.to_string(), 6);
        screen.put(ink, remark.code.as_str()).put(Ink::Plain, ": ").line(Ink::Plain, remark.message);
    }
    if sorted.len() > FINDINGS_SHOWN {
        screen.line(Ink::Faint, &format!("  … {} more", sorted.len() - FINDINGS_SHOWN));
    }
}

/// What the training token says of a page.
fn training(screen: &mut Screen, checked: &Checked<'_>, url: &str) {
    let training = checked.subject.training(url.as_bytes());
    screen.put(Ink::Plain, "  ").left(Ink::Plain, "training", LABEL_COLUMNS);
    screen.put(grid::training_ink(training.preference), &training_words(&training));
    if let Some((rule, line)) = &training.rule {
        screen.put(Ink::Plain, &format!(", line {line}: {}", fitted(rule, COLUMNS / 2)));
    }
    screen.end();
}

/// What is said of a page's use to a crawler.
fn usage(screen: &mut Screen, usage: &UsageFacts) {
    let content_usage = usage.content_usage.iter().map(|(label, usage)| format!("{label} {usage}"));
    let signals = usage.content_signal.iter().map(|(key, signal)| format!("{key} {signal}"));
    let keeping = usage.keeping.map(|keeping| format!("use {keeping}"));
    labelled(screen, "Content-Usage", &content_usage.collect::<Vec<_>>());
    labelled(screen, "Content-Signal", &signals.chain(keeping).collect::<Vec<_>>());
    if let Some((preference, line)) = usage.ai_rules {
        let words = format!("{}, line {line}", preference.as_str().replace('_', " "));
        labelled(screen, "expired draft", &[words]);
    }
}

/// Columns of what a fact is about.
const LABEL_COLUMNS: usize = 16;

fn labelled(screen: &mut Screen, label: &str, said: &[String]) {
    if !said.is_empty() {
        screen.put(Ink::Plain, "  ").left(Ink::Plain, label, LABEL_COLUMNS).line(Ink::Plain, &said.join(", "));
    }
}

/// What the file says beside its rules, below a heading of its own or of what is reported already.
pub(super) fn facts(screen: &mut Screen, checked: &Checked<'_>, is_continued: bool) {
    let conflicts = checked.subject.conflicts();
    // Beside a preference about use nothing else matters.
    let is_about_use = checked.args.view.training;
    let is_left_out = |kind: FactKind| match kind {
        // That of the group at hand is told with it.
        FactKind::CrawlDelay => is_continued || is_about_use,
        FactKind::Sitemap
        | FactKind::RequestRate
        | FactKind::VisitTime
        | FactKind::Host
        | FactKind::CleanParam
        | FactKind::Noindex => is_about_use,
        _ => false,
    };
    let facts: Vec<&Fact<'_>> = checked.subject.facts().iter().filter(|fact| !is_left_out(fact.kind)).collect();
    let of_header = HeaderFact::of(&checked.answered.observation);
    let is_silent = facts.is_empty() && conflicts.is_empty() && of_header.is_empty();
    if !is_continued && !is_silent {
        screen.heading(REPORTED);
    }
    for kind in FactKind::ALL {
        let of_kind: Vec<&Fact<'_>> = facts.iter().copied().filter(|fact| fact.kind == *kind).collect();
        for fact in of_kind.iter().take(FACTS_SHOWN) {
            self::fact(screen, checked, fact);
        }
        if of_kind.len() > FACTS_SHOWN {
            let more = of_kind.len() - FACTS_SHOWN;
            screen.line(Ink::Faint, &format!("  … {more} more of {}", label(*kind)));
        }
    }
    header_facts(screen, &of_header);
    for conflict in conflicts {
        screen.put(Ink::Plain, "  ").left(Ink::Care, "contradiction", LABEL_COLUMNS);
        screen.line(Ink::Plain, &conflict.as_str().replace('_', " "));
    }
}

fn fact(screen: &mut Screen, checked: &Checked<'_>, fact: &Fact<'_>) {
    screen.put(Ink::Plain, "  ").left(Ink::Plain, label(fact.kind), LABEL_COLUMNS);
    let raw = of_octets_cut(fact.raw, FACT_OCTETS);
    screen.put(Ink::Plain, &fitted(&raw, COLUMNS - 40)).put(Ink::Faint, &format!("  line {}", fact.line));
    let group = fact.group.filter(|_| fact.kind == FactKind::CrawlDelay);
    let agents = group.zip(checked.subject.robots()).map(|(group, robots)| &robots.groups[group as usize].agents);
    if let Some([(first, _), ..]) = agents.map(Vec::as_slice) {
        screen.put(Ink::Faint, &format!(", of the group of line {first}"));
    }
    screen.end();
}

/// What the answer's header fields say: of the answer, not of the page.
fn header_facts(screen: &mut Screen, facts: &[HeaderFact]) {
    for fact in facts.iter().take(show::HEADER_FACTS) {
        screen.put(Ink::Plain, "  ").left(Ink::Plain, fact.name.as_str(), LABEL_COLUMNS);
        screen
            .put(Ink::Plain, &fitted(&fact.in_words(), COLUMNS - 50))
            .line(Ink::Faint, "  in the answer's header fields");
    }
    if facts.len() > show::HEADER_FACTS {
        let more = facts.len() - show::HEADER_FACTS;
        screen.line(Ink::Faint, &format!("  … {more} more in the answer's header fields"));
    }
}

const fn label(kind: FactKind) -> &'static str {
    match kind {
        FactKind::ContentUsage => "Content-Usage",
        FactKind::ContentSignal => "Content-Signal",
        FactKind::License => "License",
        FactKind::AiTrainingRule => "expired draft",
        FactKind::CrawlDelay => "Crawl-delay",
        FactKind::RequestRate => "Request-rate",
        FactKind::VisitTime => "Visit-time",
        FactKind::Host => "Host",
        FactKind::CleanParam => "Clean-param",
        FactKind::Noindex => "Noindex",
        FactKind::Sitemap => "Sitemap",
        FactKind::CloudflareManaged => "managed block",
        FactKind::ContentSignalsPolicy | FactKind::CommentMentionsTdm => "comment",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named() {
        assert_eq!(lines_named(&[7]), "line 7");
        assert_eq!(lines_named(&[1, 2, 3, 4, 5, 6]), "lines 1, 2, 3, 4 and 2 more");
    }

    #[test]
    fn a_line_that_cannot_be_copied_is_a_comment() {
        assert_eq!(copyable("Disallow: /a"), "Disallow: /a");
        assert_eq!(copyable("Disallow: /\u{1b}"), "# with control octets: Disallow: /\\u{1b}");
    }
}
