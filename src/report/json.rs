//! The report as JSON: for `--format json`, and as `run.json`.

use serde_json::{Map, Value, json};

use super::Summary;
use crate::audit::ingest::IngestTotals;
use crate::audit::totals::{CrawlerTotals, LineTotals, TrainingTotals};
use crate::robots::access::FetchClass;
use crate::robots::decision::Decision;
use crate::signals::training::Scope;
use crate::tables::FORMAT_VERSION;
use crate::tables::captures::Fault;
use crate::tables::crawler_access::Access;
use crate::tables::matching_differences::causes;

/// The whole report. Absent facts are null.
#[must_use]
pub fn report(summary: &Summary<'_>) -> Value {
    let totals = summary.totals;
    let plan = summary.plan;
    json!({
        "program": "robots-audit",
        "version": env!("CARGO_PKG_VERSION"),
        "format": FORMAT_VERSION,
        "command": summary.command,
        "started_at": summary.started_at,
        "duration_s": summary.duration.as_secs_f64(),
        "machine": { "os": std::env::consts::OS, "arch": std::env::consts::ARCH, "threads": summary.threads },
        "folder": summary.folder.to_string_lossy(),
        "plan": plan.map(crate::audit::plan::Plan::to_json),
        "fetching": summary.fetching,
        "ingest": summary.ingest.as_ref().map(ingest),
        "lines": lines(&totals.lines),
        "n_origins": totals.origins(),
        "n_determinable": totals.determinable(),
        "n_bodies": totals.bodies,
        "classes": counted(FetchClass::ALL.iter().map(|class| (class.as_str(), totals.class(*class)))),
        "crawlers": plan.map(|plan| {
            let named = plan.crawlers.iter().zip(&totals.crawlers);
            named.map(|(crawler, totals)| of_crawler(&crawler.token, totals)).collect::<Vec<_>>()
        }),
        "training": plan.map(|_| training(&totals.training)),
        "urls": {
            "lines": totals.urls.lines,
            "urls": totals.urls.urls,
            "blank_or_comment": totals.urls.blank_or_comment,
            "nulls": totals.urls.nulls,
            "decisions": counted(Decision::ALL.iter().map(|decision| {
                (decision.as_str(), totals.urls.decisions[*decision as usize])
            })),
        },
        "spent_on_urls_s": {
            "clock": totals.spent.urls.as_secs_f64(),
            "read": totals.spent.read.as_secs_f64(),
            "match": totals.spent.matching.as_secs_f64(),
            "encode": totals.spent.encoding.as_secs_f64(),
            "write": totals.spent.writing.as_secs_f64(),
        },
        "access_undetermined": totals.undetermined,
        "matching_differences": plan.filter(|plan| plan.compare_matching).map(|_| json!({
            "rows": totals.parted.iter().sum::<u64>(),
            "causes": counted(causes().zip(totals.parted)),
        })),
    })
}

fn lines(lines: &LineTotals) -> Value {
    json!({
        "lines": lines.lines,
        "rows": lines.rows,
        "duplicates": lines.duplicates,
        "blank_or_comment": lines.blank_or_comment,
        "not_attempted": lines.not_attempted,
        "added_from_urls": lines.added_from_urls,
        "skipped": lines.skipped,
        "named_only_by_earlier_urls": lines.named_only,
    })
}

fn ingest(totals: &IngestTotals) -> Value {
    json!({
        "files": totals.files,
        "captures": totals.captures,
        "rows": totals.rows,
        "older_captures": totals.older,
        "other_targets": totals.other_targets,
        "other_records": totals.other_records,
        "damaged": totals.faults.damaged(),
        "undated": totals.faults.of(Fault::Time),
        "faults": counted(Fault::ALL.iter().map(|fault| (fault.as_str(), totals.faults.of(*fault)))),
        "damaged_without_row": totals.untold,
    })
}

fn of_crawler(token: &str, totals: &CrawlerTotals) -> Value {
    let mut value = counted(Access::ALL.iter().map(|access| (access.as_str(), totals.access[*access as usize])));
    value.insert("crawler".into(), token.into());
    value.insert("named".into(), totals.named.into());
    value.into()
}

fn training(totals: &TrainingTotals) -> Value {
    json!({
        "n_determinable": totals.determinable,
        "n_token": totals.token,
        "scopes": counted(Scope::ALL.iter().map(|scope| (scope.as_str(), totals.scopes[*scope as usize]))),
    })
}

fn counted<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> Map<String, Value> {
    counts.map(|(name, count)| (name.to_owned(), count.into())).collect()
}
