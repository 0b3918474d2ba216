//! `check`: what one robots.txt says about some URLs.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, anyhow};
use serde_json::{Value, json};

use super::args::{CheckArgs, Format, Global};
use super::exit::{Exit, Failed};
use super::{live, show};
use crate::audit::explain::{Explanation, Subject, TrainingExplanation};
use crate::audit::plan::Plan;
use crate::config::{CRAWLERS, Options};
use crate::origin::Target;
use crate::robots::access::{FetchClass, Policy, suspect_body};
use crate::robots::decision::Decision;
use crate::robots::token::Matching;
use crate::source::folder::BODY_OCTETS;
use crate::source::http::{Fetched, Fetcher};
use crate::tables::fetches::Observation;
use crate::tables::matching_differences::{Parting, Told, word};
use crate::tables::text::for_people;

/// What is asked about: a file, or an origin's answer.
struct Answered {
    name: String,
    observation: Observation,
    body: Vec<u8>,
}

/// Checks.
pub(super) fn check(global: &Global, args: &CheckArgs) -> Result<Exit, Failed> {
    if args.preflight.is_asked() {
        return super::preflight::preflight(global, args);
    }
    let options = global.options(args.manners.options().or(args.ask.options()))?;
    let plan = options.plan().map_err(Failed::before)?;
    if let Some(odd) = args.url.iter().find(|url| !is_path_or_url(url)) {
        return Err(Failed::before(anyhow!("{odd:?} is neither a URL nor a path that begins with /")));
    }
    let answered = if args.live { fetch(args, &options)? } else { read(args)? };
    let urls = match (&args.url[..], args.live) {
        ([], true) => vec![args.subject.clone()],
        ([], false) => vec!["/".to_owned()],
        (urls, _) => urls.to_vec(),
    };
    let subject = Subject::new(&plan, answered.observation.class, Some(&answered.body));
    let checked = Checked { plan: &plan, answered: &answered, subject: &subject, urls: &urls };
    match global.format {
        Format::Json => show::json(&checked.json(&side_by_side(&options)?))?,
        Format::Table => show::lines(&checked.text())?,
    };
    let refused = args.exit_code && checked.any_refused();
    Ok(if refused { Exit::NotHeld } else { Exit::Done })
}

/// Whether a text can be asked about: `/path`, `//host/path`, `scheme://…`, or `host/path` with a dot in the host.
fn is_path_or_url(url: &str) -> bool {
    let host = url.split(['/', '?']).next().unwrap_or_default();
    url.starts_with('/') || url.contains("://") || host.contains('.')
}

fn read(args: &CheckArgs) -> Result<Answered, Failed> {
    let mut body = Vec::new();
    let limit = BODY_OCTETS as u64;
    let read = if args.subject == "-" {
        std::io::stdin().lock().take(limit).read_to_end(&mut body)
    } else {
        File::open(&args.subject).and_then(|file| file.take(limit).read_to_end(&mut body))
    };
    read.with_context(|| format!("cannot read {}", args.subject)).map_err(|error| {
        let is_url = args.subject.starts_with("http://") || args.subject.starts_with("https://");
        let hint = if is_url { error.context("a URL is fetched only with --live") } else { error };
        Failed::before(hint)
    })?;
    let reason = suspect_body(&body);
    let class = if reason.is_some() { FetchClass::OkSuspect } else { FetchClass::Ok };
    let name = if args.subject == "-" { "stdin".to_owned() } else { args.subject.clone() };
    Ok(Answered { name, observation: Observation::of_class(class, reason), body })
}

fn fetch(args: &CheckArgs, options: &Options) -> Result<Answered, Failed> {
    let target = Target::parse(args.subject.as_bytes())
        .map_err(|reason| Failed::before(anyhow!("{} is no http(s) URL ({reason})", args.subject)))?;
    for url in &args.url {
        let full =
            if url.starts_with("//") { format!("{}:{url}", target.origin.scheme().as_str()) } else { url.clone() };
        let is_path = full.starts_with('/');
        if !is_path && Target::parse(full.as_bytes()).map(|other| other.origin).as_ref() != Ok(&target.origin) {
            return Err(Failed::before(anyhow!("{url} is not of the origin {}", target.origin)));
        }
    }
    let fetcher = Fetcher::new(live::settings(options)?).map_err(Failed::before)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let Fetched { observation, body } = runtime.map_err(Failed::running)?.block_on(fetcher.fetch(&target));
    Ok(Answered { name: target.origin.robots_url(), observation, body: body.unwrap_or_default().to_vec() })
}

/// The ten common crawlers under the same policy, whoever was asked for.
fn side_by_side(options: &Options) -> Result<Plan, Failed> {
    let common = Options { crawlers: Some(CRAWLERS.to_owned()), ..options.clone() };
    common.plan().map_err(Failed::before)
}

struct Checked<'a> {
    plan: &'a Plan,
    answered: &'a Answered,
    subject: &'a Subject<'a>,
    urls: &'a [String],
}

impl Checked<'_> {
    fn explain<'p>(&self, plan: &'p Plan, url: &str) -> impl Iterator<Item = (&'p str, Explanation)> {
        let crawlers = plan.crawlers.iter().zip(&plan.asked);
        crawlers
            .map(move |(crawler, asked)| (crawler.token.as_str(), self.subject.explain(plan, asked, url.as_bytes())))
    }

    fn any_refused(&self) -> bool {
        self.urls.iter().any(|url| {
            self.explain(self.plan, url)
                .any(|(_, explanation)| matches!(explanation.answer.decision, Decision::Deny | Decision::Defer))
        })
    }

    fn json(&self, common: &Plan) -> Value {
        let results = |plan: &Plan| -> Vec<Value> {
            let of_url = |url: &String| self.explain(plan, url).map(|(crawler, e)| result(url, crawler, &e)).collect();
            self.urls.iter().flat_map(|url| -> Vec<Value> { of_url(url) }).collect()
        };
        let training = |url: &String| training_result(url, &self.subject.training(url.as_bytes()));
        let seen = &self.answered.observation;
        json!({
            "subject": self.answered.name,
            "fetch_class": seen.class.as_str(),
            "reason": seen.reason.map(crate::robots::access::Reason::as_str),
            "robots_status": seen.status,
            "hops": seen.hops,
            "final_url": seen.final_url,
            "policy": self.plan.policy.as_str(),
            "matching": self.plan.matching.as_str(),
            "is_truncated": self.answered.body.len() > self.plan.matching.parse_octets(),
            "results": results(self.plan),
            "side_by_side": results(common),
            "training": self.urls.iter().map(training).collect::<Vec<_>>(),
            "matching_differences": self.plan.compare_matching.then(|| self.differences()),
        })
    }

    /// Where the two modes of matching part.
    fn differences(&self) -> Vec<Value> {
        let of_url = |url: &String| -> Vec<Value> {
            let partings = self.subject.partings(self.plan, url.as_bytes());
            partings
                .iter()
                .map(|parting| difference(url, &self.plan.crawlers[parting.crawler].token, parting))
                .collect()
        };
        self.urls.iter().flat_map(of_url).collect()
    }

    fn text(&self) -> String {
        let mut text = self.heading();
        for url in self.urls {
            text += &format!("\n{}\n", for_people(url));
            let longest = self.plan.crawlers.iter().map(|c| c.token.chars().count()).max().unwrap_or(0);
            let partings = self.subject.partings(self.plan, url.as_bytes());
            for (place, (crawler, explanation)) in self.explain(self.plan, url).enumerate() {
                let answer = explanation.answer;
                text += &format!("  {crawler:longest$}  {:<15}  {}\n", answer.decision, because(&explanation));
                for parting in partings.iter().filter(|parting| parting.crawler == place) {
                    text += &format!("  {:longest$}  {}\n", "", parting_words(parting));
                }
            }
            let training = self.subject.training(url.as_bytes());
            text += &format!("  {:longest$}  {}\n", "training", training_words(&training));
        }
        text
    }

    fn heading(&self) -> String {
        let seen = &self.answered.observation;
        let reason = seen.reason.map(|reason| format!(", {reason}")).unwrap_or_default();
        let mut text = format!("{}: {}{reason}", for_people(&self.answered.name), seen.class);
        if let Some(status) = seen.status {
            text += &format!(", status {status}");
        }
        if let Some(robots) = self.subject.robots() {
            text += &format!(", {} groups, {} rules", robots.groups.len(), robots.rules.len());
            if robots.is_truncated {
                text += &format!(", cut at {} octets", robots.matching.parse_octets());
            }
        }
        if self.plan.policy != Policy::Rfc9309 || self.plan.matching != Matching::Rfc9309 {
            text += &format!(" (policy {}, matching {})", self.plan.policy, self.plan.matching);
        }
        text + "\n"
    }
}

/// Both answers where the modes of matching part, and why.
fn parting_words(parting: &Parting<'_>) -> String {
    let side = |told: Told<'_>| match told.rule {
        Some((rule, line)) => format!("{} (line {line}: {})", told.decision, for_people(rule)),
        None => format!("{} (no rule)", told.decision),
    };
    format!("differs: rfc9309 {}, google {}; {}", side(parting.rfc9309), side(parting.google), word(parting.cause))
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

/// Why, in a few words.
fn because(explanation: &Explanation) -> String {
    let group = explanation.group_source.map(|source| format!(", group: {source}")).unwrap_or_default();
    match (&explanation.matched_rule, explanation.answer.hit) {
        (Some(rule), Some(hit)) => format!("line {}: {}{group}", hit.line, for_people(rule)),
        _ => format!("{}{group}", explanation.answer.source),
    }
}

fn training_words(training: &TrainingExplanation) -> String {
    let words = training.preference.as_str().replace('_', " ");
    match &training.rule {
        Some((rule, line)) => format!("{words}, line {line}: {}", for_people(rule)),
        None => words,
    }
}

fn result(url: &str, crawler: &str, explanation: &Explanation) -> Value {
    json!({
        "url": url,
        "crawler": crawler,
        "decision": explanation.answer.decision.as_str(),
        "decision_source": explanation.answer.source.as_str(),
        "group_source": explanation.group_source.map(crate::robots::group::GroupSource::as_str),
        "matched_rule": explanation.matched_rule,
        "rule_line": explanation.answer.hit.map(|hit| u32::from(hit.line)),
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
