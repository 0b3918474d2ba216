//! The table `decisions` written from runs, and the same rows through the ordinary Arrow writer with dictionary arrays,
//! statistics on, both sides in one run. Prints CPU rates of encoding and writing (making the runs, or the arrays, is
//! not counted), their ratio and the sizes of the files.
#![expect(clippy::print_stdout, reason = "a bench prints its results")]

mod cpu;

use std::iter::repeat_n;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{Int32Type, SchemaRef};
use robots_audit::robots::decision::{Answer, Decision, DecisionSource};
use robots_audit::robots::group::GroupSource;
use robots_audit::tables::Table;
use robots_audit::tables::decisions::{self, DecisionsBuilder};
use robots_audit::tables::pages::encode;
use robots_audit::tables::pages::file::RunTableFile;
use robots_audit::tables::pages::runs::{NULL, Rows, RunColumn, RunGroup, Values};
use robots_audit::tables::sink::{Footer, ROW_GROUP_ROWS, TableFile};

use cpu::CpuTime;

/// Row groups a workload.
const GROUPS: u64 = 4;

fn main() {
    println!("| crawlers | URLs an origin | rows | runs, M rows/s | Arrow, M rows/s | ratio | octets, runs / Arrow |");
    println!("|---|---|---|---|---|---|---|");
    for (crawlers, urls_an_origin) in [(50, 20), (50, 1), (10, 20), (1, 20)] {
        compare(crawlers, urls_an_origin);
    }
}

fn compare(crawlers: u32, urls_an_origin: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names: Vec<String> = (0..crawlers).map(|number| format!("Crawler-{number}bot")).collect();
    let schema = decisions::run_schema();
    let open = |name: &str| folder.path().join(name);
    let mut runs = RunTableFile::create(&open("runs"), Table::Decisions, schema.clone()).expect("a file");
    let mut rows = TableFile::create(&open("rows"), Table::Decisions, decisions::schema()).expect("a file");
    let mut builder = DecisionsBuilder::new(names.iter().map(String::as_str));
    let (mut of_runs, mut of_rows) = (0.0, 0.0);
    let urls = ROW_GROUP_ROWS as u64 / u64::from(crawlers);
    for round in 0..GROUPS {
        fill(&mut builder, round * urls..(round + 1) * urls, crawlers, urls_an_origin);
        let group = builder.take();
        assert_eq!(u64::from(group.rows), urls * u64::from(crawlers), "every URL has a row for every crawler");
        let start = CpuTime::now();
        runs.append(encode(&schema, &group).expect("encodable")).expect("written");
        of_runs += start.elapsed_s();
        let batch = as_rows(&decisions::schema(), &group);
        let start = CpuTime::now();
        rows.write(&batch).expect("written");
        of_rows += start.elapsed_s();
    }
    let start = CpuTime::now();
    let whole = rows.finish(&Footer::new()).expect("ended");
    of_rows += start.elapsed_s();
    let count = whole.publish().expect("renamed");
    let written = runs.finish(&Footer::new()).and_then(robots_audit::tables::sink::WholeFile::publish);
    assert_eq!(written.expect("ended"), count, "both files hold the same rows");
    let octets = |name: &str| std::fs::metadata(open(name).join("decisions/part-00000.parquet")).expect("a file").len();
    let rate = |seconds: f64| f64::from(u32::try_from(count).expect("a few million")) / 1e6 / seconds;
    println!(
        "| {crawlers} | {urls_an_origin} | {count} | {:.1} | {:.1} | {:.1} | {} / {} |",
        rate(of_runs),
        rate(of_rows),
        of_rows / of_runs,
        octets("runs"),
        octets("rows")
    );
}

/// Distinct URLs; one to four rule sets an origin, a third of the answers by rule.
fn fill(builder: &mut DecisionsBuilder, urls: std::ops::Range<u64>, crawlers: u32, urls_an_origin: u64) {
    let rules: Vec<_> = (0..200).map(|number| builder.rule(&format!("Disallow: /dir-{number}/"))).collect();
    for number in urls {
        let (site, mixed) = (number / urls_an_origin, number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20);
        let origin = format!("https://www.site-{:06}.example", site.wrapping_mul(7919) % 1_000_000);
        let section = ["news", "shop", "blog", "forum"][(mixed % 4) as usize];
        let url = format!("{origin}/{section}/{:x}/article-{number}?id={}", mixed >> 8 & 0xFF_FFFF, mixed & 0xFF);
        builder.url(url.as_bytes(), Some(&origin), i64::try_from(1_700_000_000_000_000 + site).ok());
        let sets = [1, 1, 2, 3, 4][(site % 5) as usize].min(crawlers);
        for set in 0..sets {
            let share = crawlers / sets + if set == 0 { crawlers % sets } else { 0 };
            let rule =
                (mixed >> (set * 5)).is_multiple_of(3).then(|| rules[((site * 3 + u64::from(set)) % 200) as usize]);
            let (decision, source) = match rule {
                Some(_) => (Decision::Deny, DecisionSource::Rule),
                None => (Decision::Allow, DecisionSource::NoMatch),
            };
            let group = if set == 0 { GroupSource::Star } else { GroupSource::Named };
            builder.answer_run(share, &Answer { decision, source, hit: None }, Some(group), rule);
        }
    }
}

/// The rows of a group as the ordinary writer takes them: dictionary arrays.
fn as_rows(schema: &SchemaRef, group: &RunGroup) -> RecordBatch {
    let columns = group.columns.iter().map(|column| as_array(column, group.rows as usize)).collect();
    RecordBatch::try_new(Arc::clone(schema), columns).expect("columns are those of the schema")
}

fn as_array(column: &RunColumn, rows: usize) -> ArrayRef {
    let key = |key: u32| (key != NULL).then_some(key.cast_signed());
    let keys: Vec<Option<i32>> = match &column.rows {
        Rows::Runs(runs) => runs.iter().flat_map(|run| repeat_n(key(run.key), run.rows as usize)).collect(),
        Rows::Cycle => (0..u32::try_from(column.values.len()).expect("few")).map(key).cycle().take(rows).collect(),
    };
    let place = |key: i32| usize::try_from(key).expect("not negative");
    match &column.values {
        Values::Text(texts) => {
            let count = u32::try_from(texts.len()).expect("few");
            let texts = (0..count).map(|place| std::str::from_utf8(texts.get(place)).expect("text"));
            let values = Arc::new(StringArray::from_iter_values(texts));
            Arc::new(
                DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), values).expect("every key has a value"),
            )
        }
        Values::Int32(numbers) => {
            Arc::new(keys.iter().map(|key| key.map(|key| numbers[place(key)])).collect::<Int32Array>())
        }
        Values::Int64(numbers) => {
            let times = keys.iter().map(|key| key.map(|key| numbers[place(key)]));
            Arc::new(times.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        }
    }
}
