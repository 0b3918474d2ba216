//! What was checked, as JSON: the same facts as for people, and all of them.

use serde_json::{Map, Value, json};

use super::Checked;
use crate::audit::explain::group::AppliedGroups;
use crate::audit::explain::math::{MatchingRule, Math, Tie};
use crate::audit::explain::remark::Remark;
use crate::audit::explain::usage::UsageFacts;
use crate::audit::explain::{Details, Explanation, Panel, TrainingExplanation};
use crate::audit::plan::Plan;
use crate::robots::access::Reason;
use crate::robots::group::GroupSource;
use crate::signals::fact::Fact;
use crate::tables::matching_differences::{Parting, Told, word};
use crate::tables::response_signals::HeaderFact;
use crate::tables::text::of_octets;

/// Everything.
pub(super) fn document(checked: &Checked<'_>) -> Value {
    let seen = &checked.answered.observation;
    let (panel, common) = (checked.subject.panel(checked.plan), checked.subject.panel(checked.common));
    let training = |url: &String| training_result(url, &checked.subject.training(url.as_bytes()));
    json!({
        "subject": checked.answered.name,
        "fetch_class": seen.class.as_str(),
        "reason": seen.reason.map(Reason::as_str),
        "robots_status": seen.status,
        "hops": seen.hops,
        "final_url": seen.final_url,
        "policy": checked.plan.policy.as_str(),
        "matching": checked.plan.matching.as_str(),
        "exact_tokens": checked.plan.exact_tokens,
        "file": file(checked),
        "is_truncated": checked.subject.cut().is_some(),
        "results": results(checked, &panel),
        "crawlers": crawlers(checked, &panel),
        "side_by_side": side_by_side(checked, &common),
        "training": checked.urls.iter().map(training).collect::<Vec<_>>(),
        "facts": checked.subject.facts().iter().map(fact).collect::<Vec<_>>(),
        "header_fields": checked.args.live.then(|| HeaderFact::of(seen)),
        "conflicts": checked.subject.conflicts().iter().map(|conflict| conflict.as_str()).collect::<Vec<_>>(),
        "warnings": checked.warnings(),
        "matching_differences": checked.plan.compare_matching.then(|| differences(checked)),
    })
}

/// The file as a whole; null where none was read.
fn file(checked: &Checked<'_>) -> Value {
    let cut = checked.subject.cut().map(
        |cut| json!({ "limit_octets": cut.limit_octets, "octets_lost": cut.octets_lost, "last_line": cut.last_line }),
    );
    let told = checked.subject.robots().map(|robots| {
        json!({
            "octets": checked.answered.body.len(),
            "lines": robots.lines,
            "groups": robots.groups.len(),
            "rules": robots.rules.len(),
            "cut": cut,
        })
    });
    json!(told)
}

fn results(checked: &Checked<'_>, panel: &Panel<'_>) -> Vec<Value> {
    let pairs = checked.pairs();
    let told = |(url, place): (&str, usize)| {
        let mut result = result(url, name(checked.plan, place), &panel.explain(place, url.as_bytes()));
        add_details(&mut result, &panel.details(place, url.as_bytes()));
        Value::Object(result)
    };
    pairs.map(told).collect()
}

fn side_by_side(checked: &Checked<'_>, common: &Panel<'_>) -> Vec<Value> {
    let of_url = |url: &String| -> Vec<Value> {
        let told = |place| {
            let crawler = name(checked.common, place);
            let mut result = result(url, crawler, &common.explain(place, url.as_bytes()));
            result.insert("is_asked".to_owned(), json!(checked.is_asked(crawler)));
            Value::Object(result)
        };
        (0..checked.common.crawlers.len()).map(told).collect()
    };
    checked.urls.iter().flat_map(of_url).collect()
}

fn name(plan: &Plan, place: usize) -> &str {
    &plan.crawlers[place].token
}

fn result(url: &str, crawler: &str, explanation: &Explanation) -> Map<String, Value> {
    let cells = [
        ("url", json!(url)),
        ("crawler", json!(crawler)),
        ("decision", json!(explanation.answer.decision.as_str())),
        ("decision_source", json!(explanation.answer.source.as_str())),
        ("group_source", json!(explanation.group_source.map(GroupSource::as_str))),
        ("matched_rule", json!(explanation.matched_rule)),
        ("rule_line", json!(explanation.answer.hit.map(|hit| u32::from(hit.line)))),
    ];
    cells.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn add_details(result: &mut Map<String, Value>, details: &Details) {
    let context =
        details.context.iter().map(|line| json!({ "line": line.line, "text": line.text, "decides": line.decides }));
    let cells = [
        ("path", json!(details.path)),
        ("n_rules", json!(details.math.as_ref().map(|math| math.n_rules))),
        ("n_matching_rules", json!(details.math.as_ref().map(|math| math.n_matching))),
        ("matching_rules", json!(details.math.as_ref().map(matching_rules))),
        ("tie", json!(details.math.as_ref().and_then(|math| math.tie).map(Tie::as_str))),
        ("context", context.collect()),
        ("findings", details.remarks.iter().map(finding).collect()),
        ("usage", usage(&details.usage)),
    ];
    result.extend(cells.into_iter().map(|(key, value)| (key.to_owned(), value)));
}

fn matching_rules(math: &Math) -> Vec<Value> {
    let told = |(place, rule): (usize, &MatchingRule)| json!({ "line": rule.line, "rule": rule.rule, "octets": rule.octets, "decides": place == 0 });
    math.matching.iter().enumerate().map(told).collect()
}

fn finding(remark: &Remark) -> Value {
    json!({
        "line": remark.line,
        "code": remark.code.as_str(),
        "severity": remark.severity.as_str(),
        "message": remark.message,
        "raw": remark.raw,
    })
}

fn usage(usage: &UsageFacts) -> Value {
    let content_usage = usage.content_usage.iter().map(|(label, usage)| (label.to_string(), json!(usage.as_str())));
    let signals = usage.content_signal.iter().map(|(key, signal)| (key.to_string(), json!(signal.as_str())));
    let keeping = usage.keeping.map(|keeping| ("use".to_owned(), json!(keeping.as_str())));
    json!({
        "content_usage": content_usage.collect::<Map<_, _>>(),
        "content_signal": signals.chain(keeping).collect::<Map<_, _>>(),
        "ai_training_rule": usage.ai_rules.map(|(preference, line)| {
            json!({ "verdict": preference.as_str(), "rule_line": line })
        }),
    })
}

/// The groups of each crawler, once; null where no file was read.
fn crawlers(checked: &Checked<'_>, panel: &Panel<'_>) -> Vec<Value> {
    let told = |place: usize| groups(name(checked.plan, place), panel.groups(place).as_ref());
    checked.places().map(told).collect()
}

fn groups(crawler: &str, groups: Option<&AppliedGroups>) -> Value {
    let Some(groups) = groups else { return json!({ "crawler": crawler, "group_source": null }) };
    json!({
        "crawler": crawler,
        "group_source": groups.source.as_str(),
        "named_as": groups.named,
        "fallback": groups.fallback,
        "star_applies": groups.star_applies,
        "n_groups": groups.n_groups,
        "agent_lines": groups.agent_lines,
        "n_rules": groups.n_rules,
        "merged_group": groups.merged,
        "crawl_delay_s": groups.crawl_delay_s,
        "drops_star_rules": groups.star_rules_left_behind,
    })
}

fn fact(fact: &Fact<'_>) -> Value {
    json!({
        "line": u32::from(fact.line),
        "kind": fact.kind.as_str(),
        "author": fact.author.as_str(),
        "value": of_octets(fact.raw),
        "meaning": fact.meaning(),
    })
}

fn training_result(url: &str, training: &TrainingExplanation) -> Value {
    json!({
        "url": url,
        "verdict": training.preference.as_str(),
        "matched_rule": training.rule.as_ref().map(|(rule, _)| rule),
        "rule_line": training.rule.as_ref().map(|(_, line)| line),
    })
}

/// Where the two modes of matching part.
fn differences(checked: &Checked<'_>) -> Vec<Value> {
    let of_url = |url: &String| -> Vec<Value> {
        let partings = checked.subject.partings(checked.plan, url.as_bytes());
        partings.iter().map(|parting| difference(url, name(checked.plan, parting.crawler), parting)).collect()
    };
    checked.urls.iter().flat_map(of_url).collect()
}

fn difference(url: &str, crawler: &str, parting: &Parting<'_>) -> Value {
    let side = |told: Told<'_>| {
        json!({
            "decision": told.decision.as_str(),
            "matched_rule": told.rule.map(|(rule, _)| rule),
            "rule_line": told.rule.map(|(_, line)| line),
        })
    };
    json!({
        "url": url,
        "crawler": crawler,
        "rfc9309": side(parting.rfc9309),
        "google": side(parting.google),
        "cause": word(parting.cause),
    })
}
