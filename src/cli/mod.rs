//! The command line: flags as typed, one file a subcommand, the progress bar, exit codes.

mod annotate;
mod args;
mod audit;
mod check;
mod crawlers;
mod demo;
mod descriptors;
mod exit;
mod fail_on;
mod faults;
mod filter;
mod health;
mod ingest;
mod interrupt;
mod lint;
mod live;
mod log;
mod man;
mod preflight;
mod progress;
mod report;
mod scan;
mod show;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use serde_json::Map;

use args::{Cli, Command};
use exit::{Exit, Failed};
use log::Kind;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let mut cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if let Err(what) = cli.settle() {
        return usage(&Cli::command().error(clap::error::ErrorKind::InvalidValue, what));
    }
    log::set_up(&cli.global);
    let exit = run(&cli).unwrap_or_else(|failed| {
        show::error(&failed.error);
        failed.exit
    });
    log::end(exit);
    exit.into()
}

fn run(cli: &Cli) -> Result<Exit, Failed> {
    match &cli.command {
        Command::Scan(args) => scan::scan(&cli.global, args),
        Command::Fetch(args) => scan::fetch(&cli.global, args),
        Command::Ingest(args) => ingest::ingest(&cli.global, args),
        Command::Report(args) => report::report(&cli.global, args),
        Command::Audit(args) => audit::audit(&cli.global, args),
        Command::Annotate(args) => annotate::annotate(&cli.global, args),
        Command::Filter(args) => filter::filter(&cli.global, args),
        Command::Check(args) => check::check(&cli.global, args),
        Command::Lint(args) => lint::lint(&cli.global, args),
        Command::Crawlers(args) => crawlers::crawlers(&cli.global, args),
        Command::Demo(args) => demo::demo(&cli.global, args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "robots-audit", &mut script);
            show::octets(&script)
        }
        Command::Man { command } => show::octets(&man::page(command)?),
    }
}

/// Help and version go to stdout and are no failure; everything else is known before work starts.
fn usage(error: &clap::Error) -> ExitCode {
    let exit = if error.use_stderr() { Exit::Unusable } else { Exit::Done };
    log::set_up_unread();
    let is_said = exit == Exit::Unusable && log::say(Kind::Error, error.to_string().trim_end(), Map::new());
    if !is_said {
        // A broken pipe is a quiet success here, too.
        let _ = error.print();
    }
    log::end(exit);
    exit.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
