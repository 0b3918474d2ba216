//! `demo --faults`: the fault bench, load by load.

use std::str::FromStr;

use anyhow::{Context, anyhow};
use clap::ValueEnum;

use super::args::{DemoArgs, Global};
use super::exit::{Exit, Failed};
use super::show;
use crate::demo::faults::{Bench, Load, Scale, Tally, play};
use crate::tables::sink;

/// Sizes of the loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Faults {
    /// A few minutes.
    Small,
    /// The fault matrix as it stands.
    Full,
}

/// A load, by its name in the fault matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Only(Load);

impl FromStr for Only {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = || Load::ALL.iter().map(|load| load.as_str()).collect::<Vec<_>>().join(", ");
        Load::from_name(&name.to_ascii_uppercase()).map(Self).ok_or_else(|| format!("the loads are {}", known()))
    }
}

/// Plays the loads, says of each how it ended, and sums up.
pub(super) fn faults(global: &Global, args: &DemoArgs, faults: Faults) -> Result<Exit, Failed> {
    let scale = match faults {
        Faults::Small => Scale::Small,
        Faults::Full => Scale::Full,
    };
    let folder = args.output.join("faults");
    sink::make_folder(&folder).map_err(Failed::before)?;
    let folder = folder.canonicalize().context("cannot find the output folder").map_err(Failed::before)?;
    let program = std::env::current_exe().context("cannot find this program").map_err(Failed::before)?;
    let bench = Bench { program, folder, scale };
    let (mut total, mut failed) = (Tally::default(), Vec::new());
    for load in Load::ALL.iter().filter(|load| args.only.is_empty() || args.only.contains(&Only(**load))) {
        if !global.quiet {
            show::remark(&format!("{load}: {} …", load.title()));
        }
        let played =
            play(*load, &bench).with_context(|| format!("{load} could not be played")).map_err(Failed::running)?;
        total.add(&played.outcome.tally);
        if played.has_failed() {
            failed.push(load.as_str());
        }
        show::lines(&played.to_string())?;
    }
    show::lines(&total.to_string())?;
    match &failed[..] {
        [] => Ok(Exit::Done),
        _ => Err(Failed { exit: Exit::NotHeld, error: anyhow!("{} did not pass", failed.join(", ")) }),
    }
}
