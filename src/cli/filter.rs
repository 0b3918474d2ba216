//! `filter`: the rows of a data set that are kept, and those that are not.

use std::sync::Arc;
use std::time::Instant;

use anyhow::anyhow;

use super::annotate::{Losses, Told, annotator, run};
use super::args::Global;
use super::args::{Columns, Deferred, FilterArgs, KeepArgs, options};
use super::exit::{Exit, Failed};
use crate::audit::plan::Plan;
use crate::config::Options;
use crate::crawlers::AskedCrawler;
use crate::dataset::job::{Job, Task};
use crate::dataset::keep::{Expression, Missing, Rules};

/// Filters.
pub(super) fn filter(global: &Global, args: &FilterArgs) -> Result<Exit, Failed> {
    let start = Instant::now();
    let options = options(global, &args.ask)?;
    let denied = denied(&options, &args.keep)?;
    let plan = Arc::new(plan(&options, &args.keep, &denied)?);
    let rules = rules(&args.keep, &plan, &denied)?;
    let columns = Columns { prefix: args.prefix.clone(), training: true, rules: false };
    let annotator = annotator(plan, &args.rows, columns, &args.output)?;
    let losses = Losses::begin("filter", &args.stats, &annotator, &args.inputs)?;
    let annotator = annotator.with_stats(losses.as_ref().map(|losses| Arc::clone(&losses.collector)));
    let task = Task::Filter { rules, excluded: args.keep.excluded_out.clone() };
    let job = Job { annotator, task, output: args.output.clone(), overwrites: args.overwrite };
    let done = run(&job, &args.inputs, options.threads(), losses)?;
    Told { command: "filter", job: &job, done: &done, elapsed_ms: start.elapsed().as_millis() }.show(global)
}

/// The crawlers of `--drop-denied`, sets taken apart.
fn denied(options: &Options, args: &KeepArgs) -> Result<Vec<AskedCrawler>, Failed> {
    let Some(list) = &args.drop_denied else { return Ok(Vec::new()) };
    options.registry().map_err(Failed::before)?.select(list).map_err(Failed::before)
}

/// A plan for the crawlers that the rules name, and for those asked for beside them.
fn plan(options: &Options, args: &KeepArgs, denied: &[AskedCrawler]) -> Result<Plan, Failed> {
    let mut crawlers: Vec<String> = denied.iter().map(|crawler| crawler.name.clone()).collect();
    crawlers.extend(args.keep.iter().flat_map(|keep| Expression::crawlers(keep)));
    crawlers.extend(options.crawlers.clone());
    // Where only the training preference counts, no crawler does; the plan has one all the same.
    let crawlers = if crawlers.is_empty() { "*".to_owned() } else { crawlers.join(",") };
    Options { crawlers: Some(crawlers), ..options.clone() }.plan().map_err(Failed::before)
}

fn rules(args: &KeepArgs, plan: &Plan, denied: &[AskedCrawler]) -> Result<Rules, Failed> {
    let names: Vec<&str> = plan.crawlers.iter().map(|crawler| crawler.token.as_str()).collect();
    let place = |crawler: &AskedCrawler| names.iter().position(|name| name.eq_ignore_ascii_case(&crawler.name));
    let missing = Missing::from_name(&args.missing);
    let missing = missing.ok_or_else(|| {
        Failed::before(anyhow!("missing {:?} is not known (there are keep, drop, fail)", args.missing))
    })?;
    let keep = args.keep.as_ref().map(|keep| Expression::parse(keep, &names)).transpose();
    Ok(Rules {
        missing,
        keeps_deferred: args.deferred == Deferred::Keep,
        denied: denied.iter().filter_map(place).collect(),
        training_against: args.drop_training_against,
        keep: keep.map_err(Failed::before)?,
    })
}
