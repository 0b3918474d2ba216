//! `lint`: the findings of one file or of a folder of files, for people and for programs.
//!
//! Files are read, looked at and written about one by one; only counts are kept.

mod json;
mod junit;
mod sarif;
mod text;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, anyhow};

use super::args::{Global, LintArgs, OutputFormat};
use super::exit::{Exit, Failed};
use super::show;
use crate::config::Options;
use crate::lint::{Linter, Located};
use crate::robots::finding::{Code, FoundBy, Severity};
use crate::source::folder::{BODY_OCTETS, Folder};

/// What `--fail-on` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailingFinding {
    /// Every finding that matters as much, or more.
    Severity(Severity),
    /// One code.
    Code(Code),
}

impl FailingFinding {
    fn names(self, found: &Located<'_>) -> bool {
        match self {
            Self::Severity(severity) => found.severity() as u8 <= severity as u8,
            Self::Code(code) => found.code == code,
        }
    }
}

impl FromStr for FailingFinding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(severity) = Severity::from_name(text) {
            return Ok(Self::Severity(severity));
        }
        match Code::from_name(text) {
            Some(code) if code.found_by() == FoundBy::Audit => Err("lint leaves this fact out".to_owned()),
            Some(code) => Ok(Self::Code(code)),
            None => Err("it is neither error, warning nor info, nor the code of a finding".to_owned()),
        }
    }
}

/// Where bodies come from.
enum Bodies {
    One(String, Vec<u8>),
    Folder(String, Folder),
}

impl Bodies {
    fn open(path: &str) -> Result<Self, Failed> {
        if path == "-" {
            let body = read(io::stdin().lock()).context("cannot read stdin").map_err(Failed::before)?;
            return Ok(Self::One("stdin".to_owned(), body));
        }
        if Path::new(path).is_dir() {
            let folder = Folder::open(Path::new(path)).map_err(Failed::before)?;
            if folder.is_empty() {
                return Err(Failed::before(anyhow!("there is no .txt file in {path}")));
            }
            return Ok(Self::Folder(path.trim_end_matches('/').to_owned(), folder));
        }
        let body = File::open(path).and_then(read).with_context(|| format!("cannot read {path}"));
        Ok(Self::One(path.to_owned(), body.map_err(Failed::before)?))
    }
}

fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    from.take(BODY_OCTETS as u64).read_to_end(&mut body)?;
    Ok(body)
}

/// How often each code was found, in how many files.
#[derive(Debug)]
struct Counts {
    files: u64,
    failing: u64,
    of_code: Vec<u64>,
}

impl Counts {
    fn new() -> Self {
        Self { files: 0, failing: 0, of_code: vec![0; Code::ALL.len()] }
    }

    /// The codes that were found, most frequent first.
    fn found(&self) -> Vec<(Code, u64)> {
        let all = Code::ALL.iter().map(|code| (*code, self.of_code[*code as usize]));
        let mut found: Vec<(Code, u64)> = all.filter(|(_, count)| *count > 0).collect();
        found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        found
    }

    fn of_severity(&self, severity: Severity) -> u64 {
        self.found().iter().filter(|(code, _)| code.severity() == severity).map(|(_, count)| count).sum()
    }
}

/// The report as it is written.
struct Report<'a> {
    format: OutputFormat,
    has_colors: bool,
    fail_on: &'a [FailingFinding],
    counts: Counts,
    /// Whether a finding was written before.
    is_begun: bool,
}

impl Report<'_> {
    fn begin(&self) -> String {
        match self.format {
            OutputFormat::Table => String::new(),
            OutputFormat::Json => json::BEGIN.to_owned(),
            OutputFormat::Sarif => sarif::begin(),
            OutputFormat::Junit => junit::BEGIN.to_owned(),
        }
    }

    fn file(&mut self, name: &str, found: &[Located<'_>]) -> String {
        self.counts.files += 1;
        for one in found {
            self.counts.of_code[one.code as usize] += 1;
            self.counts.failing += u64::from(self.fail_on.iter().any(|named| named.names(one)));
        }
        let is_first = !self.is_begun;
        self.is_begun |= !found.is_empty();
        match self.format {
            OutputFormat::Table => found.iter().map(|one| text::finding(name, one, self.has_colors)).collect(),
            OutputFormat::Json => listed(found, is_first, |one| json::finding(name, one)),
            OutputFormat::Sarif => listed(found, is_first, |one| sarif::result(name, one)),
            OutputFormat::Junit => junit::suite(name, found, |one| self.is_failure(one)),
        }
    }

    /// Whether a test fails by a finding: as `--fail-on` has it, and without it errors and warnings.
    fn is_failure(&self, found: &Located<'_>) -> bool {
        let default = [FailingFinding::Severity(Severity::Warning)];
        let named = if self.fail_on.is_empty() { &default[..] } else { self.fail_on };
        named.iter().any(|named| named.names(found))
    }

    fn end(&self) -> String {
        match self.format {
            OutputFormat::Table => text::summary(&self.counts),
            OutputFormat::Json => json::end(&self.counts),
            OutputFormat::Sarif => sarif::END.to_owned(),
            OutputFormat::Junit => junit::END.to_owned(),
        }
    }
}

/// Values of a JSON array, a line each.
fn listed(found: &[Located<'_>], is_first: bool, value: impl Fn(&Located<'_>) -> serde_json::Value) -> String {
    let mut text = String::new();
    for (place, one) in found.iter().enumerate() {
        text += if is_first && place == 0 { "\n" } else { ",\n" };
        text += &value(one).to_string();
    }
    text
}

/// Lints.
pub(super) fn lint(global: &Global, args: &LintArgs) -> Result<Exit, Failed> {
    let options = global.options(Options { registry: args.registry.clone(), ..Options::default() })?;
    let linter = Linter::new(options.registry().map_err(Failed::before)?);
    let bodies = Bodies::open(&args.path)?;
    let mut report = Report {
        format: global.output,
        has_colors: global.color.is_wanted(&io::stdout()),
        fail_on: &args.fail_on,
        counts: Counts::new(),
        is_begun: false,
    };
    show::text(&report.begin())?;
    let unreadable = match &bodies {
        Bodies::One(name, body) => {
            show::text(&report.file(name, &linter.findings(body)))?;
            None
        }
        Bodies::Folder(path, folder) => lint_folder(&linter, path, folder, &mut report)?,
    };
    show::text(&report.end())?;
    if let Some(failed) = unreadable {
        return Err(failed);
    }
    let failing = report.counts.failing;
    if failing > 0 && !global.quiet {
        show::remark(&format!("--fail-on: {failing} of the findings"));
    }
    Ok(if failing > 0 { Exit::NotHeld } else { Exit::Done })
}

/// All files of a folder; the first that cannot be read stops none of the others.
fn lint_folder(
    linter: &Linter,
    path: &str,
    folder: &Folder,
    report: &mut Report<'_>,
) -> Result<Option<Failed>, Failed> {
    let mut first = None;
    for place in 0..folder.len() {
        match folder.read(place) {
            Ok((row, body)) => {
                let name = format!("{path}/{}.txt", row.name);
                show::text(&report.file(&name, &linter.findings(&body)))?;
            }
            Err(error) => {
                first.get_or_insert_with(|| Failed::before(error));
            }
        }
    }
    if folder.skipped() > 0 {
        tracing::info!(entries = folder.skipped(), "not .txt files, left out");
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_severity_names_what_matters_more_too() {
        let linter = Linter::new(crate::crawlers::Registry::embedded());
        let found = linter.findings(b"Disallow: /\nUser-agent: a b\nDisallow: /%7ea\n");
        let codes: Vec<&str> = found.iter().map(|one| one.code.as_str()).collect();
        assert_eq!(codes, ["rule_outside_group", "agent_with_blank", "needless_escape"]);
        let named = |text: &str| {
            let fail_on: FailingFinding = text.parse().expect(text);
            found.iter().filter(|one| fail_on.names(one)).count()
        };
        assert_eq!(["error", "warning", "info", "needless_escape", "json_body"].map(named), [1, 2, 3, 1, 0]);
        for text in ["", "errors", "sitemap", "Error"] {
            assert!(text.parse::<FailingFinding>().is_err(), "{text}");
        }
    }
}
