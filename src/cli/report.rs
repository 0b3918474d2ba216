//! `report`: lists made from the tables of an audit.

use std::path::Path;

use anyhow::anyhow;

use super::args::{BlocklistArgs, Format, Global, ReportArgs, ReportCommand};
use super::exit::{Exit, Failed};
use super::show;
use crate::config::Options;
use crate::report::blocklist::{self, Asked};
use crate::report::text::number;
use crate::tables::sink;
use crate::tables::text::ascii_json;

/// Lists.
pub(super) fn report(global: &Global, args: &ReportArgs) -> Result<Exit, Failed> {
    match &args.command {
        ReportCommand::Blocklist(args) => blocklist(global, args),
    }
}

fn blocklist(global: &Global, args: &BlocklistArgs) -> Result<Exit, Failed> {
    let flags =
        Options { crawlers: Some(args.crawlers.clone()), registry: args.registry.clone(), ..Options::default() };
    let plan = global.options(flags)?.plan().map_err(Failed::before)?;
    let asked = Asked {
        crawlers: plan.crawlers.iter().map(|crawler| crawler.token.clone()).collect(),
        of_every_crawler: args.every_crawler,
        level: args.level.into(),
        with_partial: args.include_partial,
    };
    let list = blocklist::of_tables(&args.from, &asked).map_err(Failed::before)?;
    let form = Form::of(global.format, args.output.as_deref());
    let octets = match form {
        Form::Lines => list.text().into_bytes(),
        Form::Json => (ascii_json(&format!("{:#}", list.json(&asked))) + "\n").into_bytes(),
        Form::Parquet => list.parquet().map_err(Failed::running)?,
    };
    let exit = match &args.output {
        None => show::octets(&octets)?,
        Some(path) => write(path, &octets)?,
    };
    if !global.quiet {
        let (names, known) = (number(list.names.len() as u64), number(list.known));
        let unsettled = number(list.unsettled);
        show::remark(&format!(
            "{names} of {known} names are listed; {unsettled} are not, only because some of their origins gave no clear answer"
        ));
    }
    Ok(exit)
}

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One name a line.
    Lines,
    /// Names and counts.
    Json,
    /// Names and counts.
    Parquet,
}

impl Form {
    /// The ending of a file's name says more than the form of what is printed.
    fn of(printed: Format, file: Option<&Path>) -> Self {
        let ending = file.and_then(Path::extension).map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match (ending.as_deref(), printed) {
            (Some("parquet"), _) => Self::Parquet,
            (Some("json"), _) | (_, Format::Json) => Self::Json,
            (_, Format::Table) => Self::Lines,
        }
    }
}

/// Its folder is made where it does not exist.
fn write(path: &Path, octets: &[u8]) -> Result<Exit, Failed> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Failed::before(anyhow!("{} names no file", path.display())))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sink::make_folder(folder).map_err(Failed::before)?;
    sink::write_text(folder, name, octets).map_err(Failed::running)?;
    Ok(Exit::Done)
}
