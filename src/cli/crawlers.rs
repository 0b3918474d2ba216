//! `crawlers`: a look into the registry.

use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::{Value, json};

use super::args::{CrawlersArgs, CrawlersCommand, Format, Global};
use super::exit::{Exit, Failed};
use super::show;
use crate::config::Options;
use crate::crawlers::{Crawler, Registry, SETS};

/// Lists or shows.
pub(super) fn crawlers(global: &Global, args: &CrawlersArgs) -> Result<Exit, Failed> {
    match &args.command {
        CrawlersCommand::List { set, registry } => {
            let registry = open(global, registry.as_ref())?;
            list(global, &registry, set)
        }
        CrawlersCommand::Show { token, registry } => {
            let registry = open(global, registry.as_ref())?;
            one(global, &registry, token)
        }
    }
}

fn open(global: &Global, registry: Option<&PathBuf>) -> Result<Registry, Failed> {
    let options = global.options(Options { registry: registry.cloned(), ..Options::default() })?;
    options.registry().map_err(Failed::before)
}

fn list(global: &Global, registry: &Registry, set: &str) -> Result<Exit, Failed> {
    let name = if set.starts_with('@') { set.to_owned() } else { format!("@{set}") };
    let known = SETS.map(|(name, _)| name).join(", ");
    let crawlers = registry
        .set(&name)
        .ok_or_else(|| Failed::before(anyhow!("no set of crawlers is called `{set}` (there are {known})")))?;
    match global.format {
        Format::Json => {
            let list: Vec<Value> = crawlers.into_iter().map(as_json).collect();
            show::json(&Value::from(list))
        }
        Format::Table => {
            let mut text = format!("{:<28} {:<12} {:<15} {:<9} {}\n", "token", "purpose", "kind", "obeys", "operator");
            for crawler in crawlers {
                text += &format!(
                    "{:<28} {:<12} {:<15} {:<9} {}\n",
                    crawler.token, crawler.purpose, crawler.kind, crawler.obeys_robots, crawler.operator
                );
            }
            show::lines(&text)
        }
    }
}

fn one(global: &Global, registry: &Registry, token: &str) -> Result<Exit, Failed> {
    let crawler = registry
        .get(token)
        .ok_or_else(|| Failed::before(anyhow!("`{token}` is not in the registry; it can be asked for all the same")))?;
    if global.format == Format::Json {
        return show::json(&as_json(crawler));
    }
    let sets: Vec<&str> = SETS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| registry.set(name).is_some_and(|set| set.iter().any(|other| other.token == crawler.token)))
        .collect();
    let facts = [
        ("token", crawler.token.clone()),
        ("operator", crawler.operator.clone()),
        ("purpose", crawler.purpose.to_string()),
        ("kind", crawler.kind.to_string()),
        ("obeys robots", crawler.obeys_robots.to_string()),
        ("falls back to", crawler.fallback.clone().unwrap_or_else(|| "-".to_owned())),
        ("* applies", if crawler.star_applies { "yes" } else { "no" }.to_owned()),
        ("sets", sets.join(" ")),
        ("described at", crawler.doc_url.clone().unwrap_or_else(|| "-".to_owned())),
    ];
    show::lines(&facts.map(|(name, value)| format!("{name:<14} {value}\n")).concat())
}

fn as_json(crawler: &Crawler) -> Value {
    json!({
        "token": crawler.token,
        "operator": crawler.operator,
        "purpose": crawler.purpose.as_str(),
        "kind": crawler.kind.as_str(),
        "obeys_robots": crawler.obeys_robots.as_str(),
        "fallback_token": crawler.fallback,
        "star_applies": crawler.star_applies,
        "common": crawler.is_common,
        "doc_url": crawler.doc_url,
    })
}
