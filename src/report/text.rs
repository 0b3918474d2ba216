//! The report as text, to be read at the end of a run.

use std::time::Duration;

use super::Summary;
use crate::audit::ingest::IngestTotals;
use crate::audit::plan::Plan;
use crate::audit::totals::{LineTotals, Totals, TrainingTotals};
use crate::robots::access::FetchClass;
use crate::robots::decision::Decision;
use crate::signals::training::Scope;
use crate::tables::captures::Fault;
use crate::tables::crawler_access::Access;
use crate::tables::matching_differences::causes;
use crate::tables::text::for_people;

/// Columns of the longest bar.
const BAR: usize = 24;

/// The whole report.
#[must_use]
pub fn report(summary: &Summary<'_>) -> String {
    let totals = summary.totals;
    let mut text = format!("{}\n\n{}", headline(summary), classes(totals));
    if let Some(plan) = summary.plan {
        text += "\n";
        text += &crawlers(plan, totals);
        text += "\n";
        text += &training(&totals.training);
        text += "\n";
        text += &decisions(totals);
        if plan.compare_matching {
            text += &differences(totals);
        }
    }
    text += "\n";
    if let Some(totals) = &summary.ingest {
        text += &captures(totals);
        text += "\n";
    }
    // A snapshot alone has no lines but the captures.
    if summary.ingest.is_none() || summary.plan.is_some() {
        text += &balance(&totals.lines);
        text += "\n";
    }
    text += "\n";
    text += &next(summary);
    text
}

fn headline(summary: &Summary<'_>) -> String {
    let origins = summary.totals.origins();
    let seconds = summary.duration.as_secs_f64();
    let before = summary.rows_from_before();
    let here = precise(origins.saturating_sub(before));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate, shown without a fraction")]
    let rate = |seconds: f64| format!(", {} a second", number((here / seconds).round() as u64));
    let rate = if seconds > 0.0 { rate(seconds) } else { String::new() };
    let before = if before > 0 { format!(", {} of them from before,", number(before)) } else { String::new() };
    format!("{}{before} in {}{rate}", of_them(origins, "origin"), duration(summary.duration))
}

fn classes(totals: &Totals) -> String {
    let mut found: Vec<_> =
        FetchClass::ALL.iter().map(|class| (class, totals.class(*class))).filter(|(_, count)| *count > 0).collect();
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let most = found.first().map_or(1, |(_, count)| *count);
    let mut text = String::from("How they answered\n");
    for (class, count) in found {
        let share = percent(count, totals.lines.rows);
        text += &format!("  {class:<16} {:>11}  {share:>7}  {}\n", number(count), bar(count, most));
    }
    text += &format!(
        "  {} gave a clear answer (ok or missing): the denominator of what follows\n",
        number(totals.determinable())
    );
    text
}

fn crawlers(plan: &Plan, totals: &Totals) -> String {
    let clear = totals.determinable();
    let longest = plan.crawlers.iter().map(|crawler| crawler.token.chars().count()).max().unwrap_or(0).max(8);
    let mut text = format!(
        "What crawlers may read, of {} origins\n  {:longest$} {:>11} {:>11} {:>11} {:>8} {:>11} {:>11}\n",
        number(clear),
        "crawler",
        "full",
        "partial",
        "blocked",
        "share",
        "named",
        "unknown"
    );
    for (crawler, totals) in plan.crawlers.iter().zip(&totals.crawlers) {
        let of = |access: Access| totals.access[access as usize];
        text += &format!(
            "  {:longest$} {:>11} {:>11} {:>11} {:>8} {:>11} {:>11}\n",
            for_people(&crawler.token),
            number(of(Access::Full)),
            number(of(Access::Partial)),
            number(of(Access::Blocked)),
            percent(of(Access::Blocked), clear),
            number(totals.named),
            number(of(Access::Unknown)),
        );
    }
    text
}

fn training(totals: &TrainingTotals) -> String {
    let of = |scope: Scope| number(totals.token_scopes[scope as usize]);
    format!(
        "Training token __usage_ai-training\n  {} of {} origins carry it ({}): {} against, {} mixed, {} in favor\n",
        number(totals.token),
        number(totals.determinable),
        percent(totals.token, totals.determinable),
        of(Scope::Against),
        of(Scope::Mixed),
        of(Scope::InFavor),
    )
}

fn decisions(totals: &Totals) -> String {
    let rows: u64 = totals.urls.decisions.iter().sum();
    let kinds: Vec<String> = Decision::ALL
        .iter()
        .map(|decision| (decision, totals.urls.decisions[*decision as usize]))
        .filter(|(_, count)| *count > 0)
        .map(|(decision, count)| format!("{decision} {}", number(count)))
        .collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    let mut text = format!(
        "Decisions\n  {} on {} URLs{kinds}\n  {} distinct bodies, each compiled once\n",
        number(rows),
        number(totals.urls.urls),
        number(totals.bodies)
    );
    if totals.urls.nulls > 0 {
        text += &format!("  {} rows without a readable URL were left out\n", number(totals.urls.nulls));
    }
    if totals.undetermined > 0 {
        text += &format!(
            "  {} rule sets are too entangled to tell whether any path is refused; they count as partial\n",
            number(totals.undetermined)
        );
    }
    text
}

/// Where the modes of matching part.
fn differences(totals: &Totals) -> String {
    let found = causes().zip(totals.parted).filter(|(_, count)| *count > 0);
    let kinds: Vec<String> = found.map(|(cause, count)| format!("{cause} {}", number(count))).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    let rows = totals.parted.iter().sum();
    format!("  {} of them differ between rfc9309 and google matching{kinds}\n", number(rows))
}

/// The equation, as it stands.
fn balance(lines: &LineTotals) -> String {
    let mut text = format!(
        "Nothing lost: {} = {} + {} + {} blank or comment",
        of_them(lines.lines, "line"),
        of_them(lines.rows, "row"),
        of_them(lines.duplicates, "duplicate"),
        number(lines.blank_or_comment)
    );
    if lines.not_attempted > 0 {
        text += &format!(" + {} not attempted", number(lines.not_attempted));
    }
    if lines.added_from_urls > 0 {
        text += &format!(" - {} added from URLs", number(lines.added_from_urls));
    }
    if lines.skipped > 0 {
        text += &format!("; {} other files skipped", number(lines.skipped));
    }
    if lines.named_only > 0 {
        text +=
            &format!("; {} rows left out, whose origins only URLs of an earlier audit named", number(lines.named_only));
    }
    text
}

/// The equation of what was taken over.
fn captures(totals: &IngestTotals) -> String {
    let mut text = format!(
        "Nothing lost: {} captures in {} files = {} rows + {} older captures of the same origins + {} of other resources",
        number(totals.captures),
        number(totals.files),
        number(totals.rows),
        number(totals.older),
        number(totals.other_targets)
    );
    if totals.other_records > 0 {
        text += &format!("; {} records that are no captures", number(totals.other_records));
    }
    let (damaged, undated) = (totals.faults.damaged(), totals.faults.of(Fault::Time));
    if damaged > 0 {
        let passed_over = Fault::ALL.iter().filter(|fault| **fault != Fault::Time);
        let of_each = passed_over.map(|fault| (fault, totals.faults.of(*fault))).filter(|(_, count)| *count > 0);
        let faults: Vec<String> = of_each.map(|(fault, count)| format!("{fault} {}", number(count))).collect();
        text += &format!("; {} damaged ones passed over: {} (table captures)", number(damaged), faults.join(", "));
    }
    if undated > 0 {
        let undated = number(undated);
        text +=
            &format!("; {undated} with a time that cannot be read, taken for older than all others (table captures)");
    }
    text
}

fn next(summary: &Summary<'_>) -> String {
    let folder = for_people(&summary.folder.to_string_lossy()).into_owned();
    let views = quoted(&format!("{folder}/views.sql"));
    let question = if summary.plan.is_some() { "FROM blocked_by_crawler" } else { "FROM fetches LIMIT 10" };
    format!("Tables in {folder}. Try:\n  duckdb -init {views} -c \"{question}\"\n")
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ':' | '@' | '%');
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// Digits in groups of three.
#[must_use]
pub fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of something.
fn of_them(count: u64, what: &str) -> String {
    format!("{} {what}{}", number(count), if count == 1 { "" } else { "s" })
}

/// A share with one digit behind the point; `-` of nothing.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1} %", 100.0 * precise(part) / precise(whole)) }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52, shown with a few digits")]
const fn precise(count: u64) -> f64 {
    count as f64
}

fn bar(count: u64, most: u64) -> String {
    let columns = usize::try_from(count * BAR as u64 / most.max(1)).unwrap_or(BAR);
    "█".repeat(columns.clamp(1, BAR))
}

fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((percent(1, 3), percent(0, 0)), ("33.3 %".to_owned(), "-".to_owned()));
        assert_eq!(duration(Duration::from_secs(3_725)), "1 h 02 min");
    }
}
