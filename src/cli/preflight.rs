//! `check URL --live --as TOKEN`: may this URL be fetched now? A short answer for people, or the record of evidence.

use std::env;
use std::path::PathBuf;

use anyhow::anyhow;

use super::args::{CheckArgs, Format, Global, MissingFile, PreflightArgs};
use super::exit::{Exit, Failed};
use super::{live, show};
use crate::audit::plan::Plan;
use crate::audit::preflight::evidence::{AnswerFrom, Evidence, NO_IDENTITY, UrlAnswer, time_text};
use crate::audit::preflight::{Identity, Missing, Question, Terms, preflight as ask};
use crate::config::{CRAWLERS, Options};
use crate::crawlers::Identified;
use crate::robots::decision::Decision;
use crate::source::cache::Cache;
use crate::source::http::Fetcher;
use crate::tables::text::for_people;

/// Asks, prints, and says by the exit code whether the fetch may go ahead, where that is asked for.
pub(super) fn preflight(global: &Global, args: &CheckArgs) -> Result<Exit, Failed> {
    if let Some(flag) = without_meaning(args) {
        return Err(Failed::before(anyhow!("{flag} shows a file; the question before a fetch has one answer")));
    }
    let options = global.options(args.manners.options().or(args.ask.options()))?;
    // Who asks is one crawler; a list in the settings is for other questions.
    let plan = Options { crawlers: Some(CRAWLERS.to_owned()), ..options.clone() }.plan().map_err(Failed::before)?;
    let question = question(global, args, &plan)?;
    let cache = cache(&args.preflight);
    let fetcher = Fetcher::new(live::settings(&options)?).map_err(Failed::before)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let found = runtime.map_err(Failed::running)?.block_on(ask(&fetcher, cache.as_ref(), &question));
    if let Some(fault) = found.cache_fault {
        warn(global, &format!("{:#}", anyhow::Error::from(fault)));
    }
    match global.format {
        Format::Json => {
            let record = serde_json::to_value(&found.evidence).map_err(Failed::running)?;
            show::json(&record)?
        }
        Format::Table => show::lines(&in_words(&found.evidence))?,
    };
    let is_refused = args.exit_code && !found.evidence.may_fetch();
    Ok(if is_refused { Exit::NotHeld } else { Exit::Done })
}

/// A flag that shows more of a file than this one answer.
fn without_meaning(args: &CheckArgs) -> Option<&'static str> {
    let flags = [
        (args.view.explain, "--explain"),
        (args.view.merged, "--merged"),
        (args.view.training, "--training"),
        (args.compare.compare_matching, "--compare-matching"),
    ];
    flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
}

fn question(global: &Global, args: &CheckArgs, plan: &Plan) -> Result<Question, Failed> {
    let asked = &args.preflight;
    let missing = match asked.missing {
        None | Some(MissingFile::Allow) => Missing::Allow,
        Some(MissingFile::Defer) => Missing::Defer,
    };
    Ok(Question {
        url: args.subject.clone(),
        identity: identity(global, asked.identity.as_deref().unwrap_or_default(), plan)?,
        hops: (!asked.hop.is_empty()).then(|| asked.hop.clone()),
        terms: Terms { policy: plan.policy, matching: plan.matching, missing },
    })
}

fn identity(global: &Global, given: &str, plan: &Plan) -> Result<Option<Identity>, Failed> {
    let crawler = match plan.registry.identify(given).map_err(Failed::before)? {
        Identified::Nobody => None,
        Identified::Crawler(crawler) => Some(crawler),
        Identified::Header { crawler, known } => {
            let then = match (&crawler, &known[..]) {
                (Some(crawler), _) => format!("this is the answer for {}", crawler.name),
                (None, []) => "the registry knows no crawler in it".to_owned(),
                (None, known) => format!("the registry knows more than one crawler in it: {}", known.join(", ")),
            };
            warn(global, &format!("--as takes a product token, and this is a User-Agent header; {then}"));
            crawler
        }
    };
    Ok(crawler.map(|crawler| Identity::of(&crawler, plan.matching, plan.exact_tokens)))
}

/// Says what is no error, where anybody wants to know.
fn warn(global: &Global, text: &str) {
    if !global.quiet {
        show::warning(&for_people(text));
    }
}

fn cache(asked: &PreflightArgs) -> Option<Cache> {
    let folder = || asked.cache.clone().or_else(default_folder);
    (!asked.no_cache).then(folder).flatten().map(Cache::at)
}

/// The user's folder for what can be had again; none where the system names none.
fn default_folder() -> Option<PathBuf> {
    let named = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = if cfg!(windows) {
        named("LOCALAPPDATA")
    } else {
        named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")))
    };
    folder.map(|folder| folder.join("robots-audit"))
}

/// The answer in a few lines.
fn in_words(evidence: &Evidence) -> String {
    let whom = evidence.crawler_identity.as_deref().unwrap_or("nobody");
    let mut text = format!("{}: {whom}, {}\n", evidence.decision, evidence.requested_url);
    for answer in &evidence.answers {
        if evidence.answers.len() > 1 {
            text += &format!("\n{}: {}\n", answer.decision, answer.url);
        }
        text += &format!("  because  {}\n", because(answer));
        if let Some(seen) = seen(answer) {
            text += &format!("  seen     {seen}\n");
        }
        for fact in answer.header_fields.iter().take(show::HEADER_FACTS) {
            text += &format!("  beside   {}: {}, in the answer's header fields\n", fact.name, fact.in_words());
        }
        if let more @ 1.. = answer.header_fields.len().saturating_sub(show::HEADER_FACTS) {
            text += &format!("  beside   … {more} more in the answer's header fields\n");
        }
    }
    if evidence.answers.len() > 1 {
        text.push('\n');
    }
    text + &format!("  path     {}\n", path(evidence))
}

fn because(answer: &UrlAnswer) -> String {
    if let (Some(rule), Some(line)) = (&answer.matched_rule, answer.rule_line) {
        let group = answer.group_source.map(|source| format!(", group: {source}")).unwrap_or_default();
        return format!("line {line}: {rule}{group}");
    }
    match (answer.decision_source, answer.reason) {
        (_, Some(NO_IDENTITY)) => {
            "no identity is given: name the crawler that wants to fetch with --as TOKEN".to_owned()
        }
        (Some(_), Some(reason)) if answer.checked_origin.is_none() => {
            format!("this is no http(s) URL in full ({reason})")
        }
        (Some(source), _) => source.to_string(),
        (None, reason) => reason.unwrap_or("not known").to_owned(),
    }
}

/// Which answer that rests on, and when it was given.
fn seen(answer: &UrlAnswer) -> Option<String> {
    let origin = answer.checked_origin.as_ref()?;
    let mut text = format!("{origin}/robots.txt");
    if let Some(class) = answer.robots_class {
        let reason = answer.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        text += &format!(": {class}{reason}");
    }
    if let Some(status) = answer.robots_status {
        text += &format!(", status {status}");
    }
    if let Some(time) = answer.checked_at.and_then(|time| time_text(time, 0)) {
        text += &format!(", at {time}");
    }
    Some(match answer.answer_from {
        Some(AnswerFrom::Cache) => text + ", from the cache",
        Some(AnswerFrom::Revalidated) => text + ", confirmed",
        Some(AnswerFrom::Network) | None => text,
    })
}

fn path(evidence: &Evidence) -> String {
    match evidence.redirects_observed {
        None => "not checked: only this URL was; give each redirect of the page with --hop".to_owned(),
        Some(_) if evidence.decision == Decision::Unresolved && evidence.crawler_identity.is_none() => {
            "not checked".to_owned()
        }
        Some(1) => "checked with the redirect given".to_owned(),
        Some(redirects) => format!("checked with the {redirects} redirects given"),
    }
}
