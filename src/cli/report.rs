//! `report`: lists made from the tables of an audit.

use std::path::Path;

use anyhow::anyhow;

use super::args::Global;
use super::args::{BlocklistArgs, ReportArgs, ReportCommand};
use super::exit::{Exit, Failed};
use super::show;
use crate::config::Options;
use crate::report::blocklist::{self, Asked};
use crate::report::text::number;

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
    let exit = match &args.output {
        None => show::octets(list.text().as_bytes())?,
        Some(path) => {
            let is_parquet = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"));
            let octets = if is_parquet { list.parquet().map_err(Failed::running)? } else { list.text().into_bytes() };
            write(path, &octets)?;
            Exit::Done
        }
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

/// Under a temporary name, renamed when whole.
fn write(path: &Path, octets: &[u8]) -> Result<(), Failed> {
    let name = path.file_name().ok_or_else(|| Failed::before(anyhow!("{} names no file", path.display())))?;
    let temporary = path.with_file_name(format!(".{}.tmp", name.to_string_lossy()));
    let written = std::fs::write(&temporary, octets).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|error| {
        // Best effort: a leftover has a name that no reader opens.
        let _ = std::fs::remove_file(&temporary);
        Failed::running(anyhow!(error).context(format!("cannot write {}", path.display())))
    })
}
