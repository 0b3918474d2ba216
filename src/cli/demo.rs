//! `demo`: the real scan, against a small web of generated origins on loopback.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::args::{
    AskArgs, CompareArgs, DemoArgs, Global, LiveArgs, MannersArgs, OutputArgs, RunArgs, ScanArgs, UrlArgs,
};
use super::exit::{Exit, Failed};
use super::faults::faults;
use super::ingest::must_be_free;
use super::scan::run_scan;
use super::show;
use crate::config::Options;
use crate::demo::demo_web::DemoWeb;
use crate::demo::sample;
use crate::report::text::number;
use crate::source::http::{FetchSettings, Network};
use crate::source::snapshot::Snapshot;
use crate::tables::sink;

/// Runs the demo: afterwards every class is compared with what the web was made to answer.
pub(super) fn demo(global: &Global, args: &DemoArgs) -> Result<Exit, Failed> {
    if let Some(size) = args.faults {
        return faults(global, args, size);
    }
    let options = global
        .options(Options { contact: Some("https://example.org/robots-audit-demo".to_owned()), ..Options::default() })?;
    sink::make_folder(&args.output).map_err(Failed::before)?;
    // An earlier demo may be begun anew.
    if !args.output.join(SAMPLE).is_file() {
        must_be_free(&args.output)?;
    }
    let web = DemoWeb::start(args.origins, args.seed).context("cannot start the web").map_err(Failed::before)?;
    let scan = scan_args(args, &web).map_err(Failed::before)?;
    // All its names share one address, and what it answers once it answers always.
    let settings = FetchSettings {
        limits: web.limits(),
        allowed_addresses: web.allowed_addresses(),
        retries: 0,
        per_ip_concurrency: 0,
        per_ip_rate: 0,
        ..FetchSettings::new(options.user_agent().map_err(Failed::before)?, Network::Embedded(web.network()))
    };
    run_scan(global, &scan, &options, settings, "demo")?;
    let compared = compare(&args.output, &web).map_err(Failed::running)?;
    if !global.quiet {
        show::remark(&format!(
            "\nDemo: {} of {} origins have the class that the web was made to answer",
            number(compared.right),
            number(compared.right + compared.wrong.len() as u64)
        ));
    }
    match compared.wrong.first() {
        None => Ok(Exit::Done),
        Some(first) => Err(Failed::running(anyhow!("the scan saw something else than the web answered: {first}"))),
    }
}

/// Writes the lists beside the tables, so that the same questions can be asked again by hand.
fn scan_args(args: &DemoArgs, web: &DemoWeb) -> anyhow::Result<ScanArgs> {
    let lines = |lines: Vec<String>| lines.join("\n") + "\n";
    let origins = write(&args.output, "origins.txt", &lines(web.targets().collect()))?;
    let urls = write(&args.output, "urls.txt", &lines(web.urls().map(str::to_owned).collect()))?;
    write_sample(&args.output, &sample::rows(web.urls(), args.seed))?;
    Ok(ScanArgs {
        live: LiveArgs {
            origins: vec![origins.to_string_lossy().into_owned()],
            origin_column: None,
            limit: None,
            reuse: None,
            run: RunArgs { restart: true, ..RunArgs::default() },
            manners: MannersArgs::default(),
        },
        urls: UrlArgs { urls: vec![urls.to_string_lossy().into_owned()], url_column: None },
        ask: AskArgs { crawlers: None, registry: None, policy: None, matching: None, exact_tokens: false },
        compare: CompareArgs::default(),
        output: OutputArgs { output: args.output.clone() },
    })
}

fn write(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    sink::write_text(folder, name, text)?;
    Ok(folder.join(name))
}

/// A training set, beside the tables of a demo.
const SAMPLE: &str = "sample.parquet";

/// Writes a training set to try `annotate` and `filter` on.
fn write_sample(folder: &Path, rows: &RecordBatch) -> anyhow::Result<()> {
    /// Rows of a row group, as data sets of the web have them.
    const GROUP_ROWS: usize = 1_000;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let mut octets = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut octets, rows.schema(), Some(properties))?;
    writer.write(rows)?;
    writer.close()?;
    sink::write_text(folder, SAMPLE, octets)?;
    Ok(())
}

#[derive(Debug, Default)]
struct Compared {
    right: u64,
    wrong: Vec<String>,
}

fn compare(folder: &Path, web: &DemoWeb) -> anyhow::Result<Compared> {
    let mut compared = Compared::default();
    for batch in Snapshot::open(folder)?.fetches() {
        let batch = batch?;
        let text = |name: &str| -> anyhow::Result<_> {
            let column = batch.column_by_name(name).with_context(|| format!("no column {name}"))?;
            Ok(cast(column, &DataType::Utf8)?.as_string::<i32>().clone())
        };
        let (origins, classes, reasons) = (text("origin")?, text("fetch_class")?, text("reason")?);
        for row in 0..batch.num_rows() {
            let origin = origins.value(row);
            let Some((class, reason)) = web.expected(origin) else {
                compared.wrong.push(format!("{origin} is none of its origins"));
                continue;
            };
            let seen_reason = reasons.is_valid(row).then(|| reasons.value(row));
            let reason_fits = reason.is_none() || seen_reason == reason.map(crate::robots::access::Reason::as_str);
            if classes.value(row) == class.as_str() && reason_fits {
                compared.right += 1;
            } else {
                let seen = classes.value(row);
                compared.wrong.push(format!("{origin} answered {class}, seen was {seen} {seen_reason:?}"));
            }
        }
    }
    Ok(compared)
}
