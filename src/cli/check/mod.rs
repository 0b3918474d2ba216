//! `check`: what one robots.txt says about some URLs, and why.
//!
//! | module | holds |
//! |---|---|
//! | `text` | one answer in full, for people |
//! | `grid` | several answers side by side |
//! | `json` | all of it for programs |
//! | `words` | answers in words |
//! | `screen` | columns, colours, and safety of the terminal |

mod grid;
mod json;
mod screen;
mod text;
mod words;

use std::fs::File;
use std::io::Read;

use anyhow::{Context, anyhow};

use self::screen::Screen;
use super::args::{CheckArgs, Format, Global};
use super::exit::{Exit, Failed};
use super::{live, show};
use crate::audit::explain::Subject;
use crate::audit::plan::Plan;
use crate::config::{CRAWLERS, Options};
use crate::crawlers::HeaderAsked;
use crate::origin::Target;
use crate::robots::access::{FetchClass, suspect_body};
use crate::robots::decision::Decision;
use crate::source::folder::BODY_OCTETS;
use crate::source::http::{Fetched, Fetcher};
use crate::tables::fetches::Observation;
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
    let options = global.options(args.manners.options().or(args.compare.options()).or(args.ask.options()))?;
    let (options, headers) = without_headers(options)?;
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
    let common = side_by_side(&options)?;
    let checked =
        Checked { plan: &plan, common: &common, answered: &answered, subject: &subject, urls: &urls, headers, args };
    if !global.quiet {
        checked.warnings().iter().for_each(|warning| show::warning(&for_people(warning)));
    }
    match global.format {
        Format::Json => show::json(&json::document(&checked))?,
        Format::Table => show::text(&checked.text(global.color.is_wanted(&std::io::stdout())))?,
    };
    let refused = args.exit_code && checked.any_refused();
    Ok(if refused { Exit::NotHeld } else { Exit::Done })
}

/// Takes the tokens out of whole header fields that were given as crawlers.
fn without_headers(options: Options) -> Result<(Options, Vec<HeaderAsked>), Failed> {
    let Some(asked) = options.crawlers.clone().filter(|asked| !std::path::Path::new(asked).is_file()) else {
        return Ok((options, Vec::new()));
    };
    let found = options.registry().map_err(Failed::before)?.without_headers(&asked);
    Ok((Options { crawlers: Some(found.asked), ..options }, found.headers))
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

/// A check, ready to be told.
struct Checked<'a> {
    plan: &'a Plan,
    /// The ten common crawlers.
    common: &'a Plan,
    answered: &'a Answered,
    subject: &'a Subject<'a>,
    urls: &'a [String],
    headers: Vec<HeaderAsked>,
    args: &'a CheckArgs,
}

impl Checked<'_> {
    /// The places of the crawlers asked for; none where the training token is asked instead.
    fn places(&self) -> std::ops::Range<usize> {
        if self.args.view.training { 0..0 } else { 0..self.plan.crawlers.len() }
    }

    /// Each URL with each crawler, as asked.
    fn pairs(&self) -> impl Iterator<Item = (&str, usize)> {
        self.urls.iter().flat_map(|url| self.places().map(move |place| (url.as_str(), place)))
    }

    fn is_asked(&self, crawler: &str) -> bool {
        let mut asked = self.plan.crawlers[self.places()].iter();
        asked.any(|asked| asked.token.eq_ignore_ascii_case(crawler))
    }

    /// What is wrong with the question.
    fn warnings(&self) -> Vec<String> {
        let told = |header: &HeaderAsked| {
            let given = screen::fitted(&header.given, screen::COLUMNS);
            let then = match (&header.token, &header.known[..]) {
                (Some(token), _) => format!("{token}, which it holds, is asked instead"),
                (None, []) => "the registry knows no crawler in it; only what it begins with is asked".to_owned(),
                (None, known) => format!("name one of those that it holds: {}", known.join(", ")),
            };
            format!("{given:?} is a whole User-Agent header field; {then}")
        };
        self.headers.iter().map(told).collect()
    }

    fn any_refused(&self) -> bool {
        let panel = self.subject.panel(self.plan);
        let mut answers = self.pairs().map(|(url, place)| panel.explain(place, url.as_bytes()).answer);
        answers.any(|answer| matches!(answer.decision, Decision::Deny | Decision::Defer))
    }

    /// For people: one answer in full, or several side by side.
    fn text(&self, has_colors: bool) -> String {
        let mut screen = Screen::new(has_colors);
        let is_single = !self.args.view.training && self.urls.len() == 1 && self.plan.crawlers.len() == 1;
        if self.args.view.merged {
            text::merged(&mut screen, self);
            return screen.into_text();
        }
        let panel = self.subject.panel(self.plan);
        text::file(&mut screen, self);
        if is_single {
            let common = self.subject.panel(self.common);
            self.pairs().for_each(|(url, place)| text::whole(&mut screen, self, &panel, &common, url, place));
        } else {
            grid::answers(&mut screen, self, &panel);
        }
        if self.args.view.explain && !is_single {
            self.pairs().for_each(|(url, place)| text::explanation(&mut screen, self, &panel, url, place));
        }
        text::facts(&mut screen, self, is_single);
        screen.into_text()
    }
}
