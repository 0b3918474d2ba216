//! The writer of runs against the ordinary writer: the same rows, the same statistics, for every reader.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow::compute::{cast, concat_batches, take};
use arrow::datatypes::{DataType, Int32Type, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Encoding;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, page_index::RowGroupPageIndex};
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};
use proptest::prelude::*;
use robots_audit::tables::Table;
use robots_audit::tables::column::{timestamp, value, words};
use robots_audit::tables::pages::file::RunTableFile;
use robots_audit::tables::pages::runs::{NULL, Rows, Run, RunColumn, RunGroup, Texts, Values};
use robots_audit::tables::pages::{RunSchema, encode};
use robots_audit::tables::sink::{DICTIONARY_PAGE_OCTETS, Footer, ROW_GROUP_ROWS, TableFile};
use tempfile::TempDir;

use crate::duckdb::python;

/// A table with a column of each kind.
fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        words("url"),
        words("origin"),
        words("crawler"),
        value("rule_line", DataType::Int32),
        timestamp("checked_at"),
    ]))
}

fn texts(texts: &[String]) -> Values {
    Values::Text(texts.iter().map(String::as_str).collect())
}

fn runs(runs: &[(u32, u32)]) -> Rows {
    Rows::Runs(runs.iter().map(|(key, rows)| Run { key: *key, rows: *rows }).collect())
}

/// The rows of a group, one by one, as the ordinary writer takes them.
fn rows_of(schema: &SchemaRef, group: &RunGroup) -> RecordBatch {
    let columns = schema.fields().iter().zip(&group.columns).map(|(field, column)| {
        let rows = group.rows as usize;
        let keys: Vec<Option<u32>> = match &column.rows {
            Rows::Runs(runs) => runs
                .iter()
                .flat_map(|run| std::iter::repeat_n((run.key != NULL).then_some(run.key), run.rows as usize))
                .collect(),
            Rows::Cycle => (0..u32::try_from(column.values.len()).expect("few")).cycle().take(rows).map(Some).collect(),
        };
        let keys = UInt32Array::from(keys);
        let values: ArrayRef = match &column.values {
            Values::Text(texts) => Arc::new(strings(texts)),
            Values::Int32(numbers) => Arc::new(Int32Array::from(numbers.clone())),
            Values::Int64(numbers) => Arc::new(TimestampMicrosecondArray::from(numbers.clone()).with_timezone("UTC")),
        };
        match (field.data_type(), &column.values) {
            (DataType::Dictionary(..), _) => {
                let keys = cast(&keys, &DataType::Int32).expect("keys are few");
                let keys = keys.as_any().downcast_ref::<Int32Array>().expect("cast to it").clone();
                Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).expect("keys of values")) as ArrayRef
            }
            _ => take(&values, &keys, None).expect("keys of values"),
        }
    });
    RecordBatch::try_new(schema.clone(), columns.collect()).expect("columns of the schema")
}

fn strings(texts: &Texts) -> StringArray {
    let keys = 0..u32::try_from(texts.len()).expect("few");
    StringArray::from_iter_values(keys.map(|key| std::str::from_utf8(texts.get(key)).expect("text")))
}

/// Both files of the same rows: by runs, and by rows.
struct Both {
    folder: TempDir,
    runs: PathBuf,
    rows: PathBuf,
}

impl Both {
    fn write(schema: &SchemaRef, groups: &[RunGroup]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = RunSchema::of(schema.clone()).expect("types of Parquet");
        let mut file =
            RunTableFile::create(&folder.path().join("runs"), Table::Decisions, runs.clone()).expect("a file");
        for group in groups {
            file.append(encode(&runs, group).expect("a whole group")).expect("written");
        }
        file.finish(&Footer::new()).expect("whole").publish().expect("published");
        let mut file =
            TableFile::create(&folder.path().join("rows"), Table::Decisions, schema.clone()).expect("a file");
        for group in groups.iter().filter(|group| group.rows > 0) {
            file.write(&rows_of(schema, group)).expect("written");
        }
        file.finish(&Footer::new()).expect("whole").publish().expect("published");
        let path = |way: &str| folder.path().join(way).join("decisions/part-00000.parquet");
        Self { runs: path("runs"), rows: path("rows"), folder }
    }

    fn octets(&self) -> (u64, u64) {
        let octets = |path: &Path| path.metadata().expect("a file").len();
        (octets(&self.runs), octets(&self.rows))
    }
}

fn read(path: &Path) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a file")).expect("Parquet");
    let schema = builder.schema().clone();
    let batches: Vec<_> =
        builder.with_batch_size(8192).build().expect("a reader").map(|batch| batch.expect("rows")).collect();
    let plain = |batch: &RecordBatch| {
        let columns = batch.columns().iter().map(|column| match column.data_type() {
            DataType::Dictionary(..) => cast(column, &DataType::Utf8).expect("text"),
            _ => Arc::clone(column),
        });
        RecordBatch::try_from_iter_with_nullable(
            columns.zip(schema.fields()).map(|(column, field)| (field.name().clone(), column, true)),
        )
        .expect("columns")
    };
    let batches: Vec<_> = batches.iter().map(plain).collect();
    match batches.first() {
        Some(first) => concat_batches(&first.schema(), &batches).expect("the same columns"),
        None => RecordBatch::new_empty(schema),
    }
}

fn metadata(path: &Path) -> ParquetMetaData {
    let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    reader.try_parse(&File::open(path).expect("a file")).expect("metadata with a page index");
    reader.finish().expect("metadata")
}

/// Same rows; same statistics and, page by page where pages are the same rows, same index; sizes that add up.
fn compare(both: &Both) {
    assert_eq!(read(&both.runs), read(&both.rows));
    let (runs, rows) = (metadata(&both.runs), metadata(&both.rows));
    assert_eq!(runs.file_metadata().schema_descr(), rows.file_metadata().schema_descr());
    assert_eq!(runs.file_metadata().key_value_metadata(), rows.file_metadata().key_value_metadata());
    assert_eq!(runs.file_metadata().created_by(), rows.file_metadata().created_by());
    assert_eq!(runs.file_metadata().num_rows(), rows.file_metadata().num_rows());
    if runs.num_row_groups() == rows.num_row_groups() {
        for (group, (runs, rows)) in runs.row_groups().iter().zip(rows.row_groups()).enumerate() {
            assert_eq!(runs.num_rows(), rows.num_rows());
            for (runs, rows) in runs.columns().iter().zip(rows.columns()) {
                let column = format!("{group} {}", runs.column_path());
                assert_eq!(runs.statistics(), rows.statistics(), "{column}");
                assert_eq!(runs.num_values(), rows.num_values(), "{column}");
                assert_eq!(runs.compression(), rows.compression(), "{column}");
                assert_eq!(runs.unencoded_byte_array_data_bytes(), rows.unencoded_byte_array_data_bytes(), "{column}");
                assert_eq!(runs.definition_level_histogram(), rows.definition_level_histogram(), "{column}");
                assert_eq!(runs.bloom_filter_offset().is_some(), rows.bloom_filter_offset().is_some(), "{column}");
            }
        }
        same_page_index(&runs, &rows);
    }
    for (group, facts) in runs.row_groups().iter().enumerate() {
        sizes_add_up(&both.runs, &runs, group);
        assert!(facts.num_rows() > 0);
    }
}

fn same_page_index(runs: &ParquetMetaData, rows: &ParquetMetaData) {
    for group in 0..runs.num_row_groups() {
        for column in 0..runs.row_group(group).num_columns() {
            let (runs, rows) = (runs.page_index_for_row_group(group), rows.page_index_for_row_group(group));
            let starts = |index: &RowGroupPageIndex| -> Vec<i64> {
                let pages = index.page_locations(column).expect("an offset index");
                pages.iter().map(|page| page.first_row_index).collect()
            };
            let index = runs.column_index(column).expect("a column index");
            if starts(&runs) == starts(&rows) {
                assert_eq!(Some(index), rows.column_index(column), "{group} {column}");
            }
        }
    }
}

/// Walks the pages of a row group: headers and sizes are those of the metadata.
fn sizes_add_up(path: &Path, metadata: &ParquetMetaData, group: usize) {
    let options = ReadOptionsBuilder::new().with_reader_properties(ReaderProperties::builder().build()).build();
    let reader = SerializedFileReader::new_with_options(File::open(path).expect("a file"), options).expect("Parquet");
    let pages = reader.get_row_group(group).expect("a row group");
    let index = metadata.page_index_for_row_group(group);
    for (column, facts) in metadata.row_group(group).columns().iter().enumerate() {
        let locations = index.page_locations(column).expect("an offset index");
        let data: i64 = locations.iter().map(|page| i64::from(page.compressed_page_size)).sum();
        let dictionary = facts.dictionary_page_offset().map_or(0, |offset| facts.data_page_offset() - offset);
        assert_eq!(data + dictionary, facts.compressed_size());
        assert_eq!(locations[0].offset, facts.data_page_offset());
        let mut values = 0;
        let mut count = 0;
        for page in pages.get_column_page_reader(column).expect("pages") {
            let page = page.expect("a page");
            if page.is_data_page() {
                values += i64::from(page.num_values());
                count += 1;
            }
        }
        assert_eq!(values, facts.num_values());
        assert_eq!(count, locations.len());
    }
}

/// A group of so many URLs of so many origins, with so many crawlers, like those of a run. An origin's name is a number.
fn matrix(first_origin: u32, urls: u32, origins: u32, crawlers: u32) -> RunGroup {
    let rows = urls * crawlers;
    let place = |url: u32| url / (urls / origins).max(1);
    let origin = |place: u32| format!("https://www.origin-{}.example", first_origin + place);
    let url = |n: u32| format!("{}/some/path/{}?page={n}", origin(place(n)), n * 7_919);
    let url_values: Vec<_> = (0..urls).map(url).collect();
    let origin_values: Vec<_> = (0..=place(urls - 1)).map(origin).collect();
    let split = crawlers / 3;
    let mut lines = Vec::new();
    for n in 0..urls {
        lines.push(Run { key: n % 7, rows: split });
        lines.push(Run { key: if n % 3 == 0 { NULL } else { 7 }, rows: crawlers - split });
    }
    lines.retain(|run| run.rows > 0);
    RunGroup {
        rows,
        columns: vec![
            RunColumn { values: texts(&url_values), rows: runs(&(0..urls).map(|n| (n, crawlers)).collect::<Vec<_>>()) },
            RunColumn {
                values: texts(&origin_values),
                rows: runs(&(0..urls).map(|n| (place(n), crawlers)).collect::<Vec<_>>()),
            },
            RunColumn {
                values: texts(&(0..crawlers).map(|n| format!("Crawler-{n}")).collect::<Vec<_>>()),
                rows: Rows::Cycle,
            },
            RunColumn { values: Values::Int32(vec![3, -4, 12, 1, 90, 77, 5, 800]), rows: Rows::Runs(lines) },
            RunColumn { values: Values::Int64(vec![1_700_000_000_000_000]), rows: runs(&[(0, rows)]) },
        ],
    }
}

#[test]
fn the_largest_row_group_is_read_as_the_ordinary_writer_wrote_it() {
    let rows = u32::try_from(ROW_GROUP_ROWS).expect("a million");
    let crawlers = 64;
    let both = Both::write(&schema(), &[matrix(0, rows / crawlers, 100, crawlers)]);
    compare(&both);
    let (runs, rows) = both.octets();
    assert!(runs <= rows, "{runs} octets by runs, {rows} by rows");
}

#[test]
fn files_are_not_larger_whatever_the_number_of_crawlers() {
    for (urls, crawlers) in [(50_000, 1), (50_000, 2), (30_000, 5), (20_000, 10), (10_000, 50), (40, 30_000)] {
        let both = Both::write(&schema(), &[matrix(0, urls, 40, crawlers)]);
        compare(&both);
        let (runs, rows) = both.octets();
        assert!(runs <= rows, "{crawlers} crawlers: {runs} octets by runs, {rows} by rows");
    }
}

#[test]
fn a_dictionary_above_its_limit_goes_on_in_plain_pages() {
    let long = |n: u32| format!("https://long.example/{n}/{}", "x".repeat(9_000));
    let urls = u32::try_from(DICTIONARY_PAGE_OCTETS / 9_000).expect("few") + 300;
    let mut group = matrix(0, urls, 1, 3);
    let keys = (0..urls).map(|n| (n, 3));
    group.columns[0] =
        RunColumn { values: texts(&(0..urls).map(long).collect::<Vec<_>>()), rows: runs(&keys.collect::<Vec<_>>()) };
    let both = Both::write(&schema(), &[group.clone()]);
    compare(&both);
    let file = metadata(&both.runs);
    let column = file.row_group(0).column(0);
    assert!(column.dictionary_page_offset().is_some());
    assert!(column.encodings().any(|encoding| encoding == Encoding::PLAIN));
    assert!(column.encodings().any(|encoding| encoding == Encoding::RLE_DICTIONARY));
    // A first row that the dictionary does not hold: no dictionary at all.
    group.columns[0].rows = runs(&[(urls - 1, 3), (0, 3 * (urls - 1))]);
    let both = Both::write(&schema(), &[group]);
    compare(&both);
    assert!(metadata(&both.runs).row_group(0).column(0).dictionary_page_offset().is_none());
}

#[test]
fn tables_without_rows_are_whole_files() {
    let both = Both::write(&schema(), &[RunGroup::default()]);
    assert_eq!(read(&both.runs), read(&both.rows));
    let file = SerializedFileReader::new(File::open(&both.runs).expect("a file")).expect("Parquet");
    assert_eq!(file.metadata().num_row_groups(), 0);
    assert_eq!(file.metadata().file_metadata().key_value_metadata().map(Vec::len), Some(3));
}

#[test]
fn groups_that_do_not_hold_together_are_refused() {
    let schema = RunSchema::of(schema()).expect("types of Parquet");
    let good = matrix(0, 10, 2, 4);
    let refused = |change: &dyn Fn(&mut RunGroup)| {
        let mut group = good.clone();
        change(&mut group);
        encode(&schema, &group).expect_err("a fault").to_string()
    };
    for (fault, what) in [
        (refused(&|group| group.rows += 1), "another number of rows"),
        (refused(&|group| group.columns[0].rows = runs(&[(10, 40)])), "not in the dictionary"),
        (refused(&|group| group.columns[3].values = Values::Int64(vec![0; 8])), "another type"),
        (refused(&|group| group.columns[2].values = texts(&[])), "a cycle of no values"),
        (refused(&|group| group.columns.truncate(4)), "4 columns for 5"),
    ] {
        assert!(fault.contains(what), "{fault}: {what}");
    }
}

#[test]
fn the_filter_holds_every_origin_and_little_else() {
    let both = Both::write(&schema(), &[matrix(0, 3_000, 1_000, 4)]);
    let file = SerializedFileReader::new(File::open(&both.runs).expect("a file")).expect("Parquet");
    let column = file.metadata().row_group(0).column(1).clone();
    let filter = Sbbf::read_from_column_chunk(&column, &File::open(&both.runs).expect("a file")).expect("a filter");
    let filter = filter.expect("a filter");
    assert!((0..1_000).all(|n| filter.check(format!("https://www.origin-{n}.example").as_str())));
    let found = (0..10_000).filter(|n| filter.check(format!("https://other-{n}.example").as_str())).count();
    assert!(found < 300, "{found} of 10,000 strangers");
}

/// Runs that need not be those of a real table: any lengths, nulls anywhere, values in any order.
fn any_runs(values: u32) -> impl Strategy<Value = Vec<(u32, u32)>> {
    let rows = prop_oneof![6 => 1_u32..4, 3 => 1_u32..60, 1 => 1_u32..25_000];
    let key = prop_oneof![5 => 0..values, 1 => Just(NULL)];
    prop::collection::vec((key, rows), 1..80)
}

fn any_values(values: usize) -> impl Strategy<Value = Vec<String>> {
    let text = prop_oneof![4 => "[a-c/]{0,6}", 2 => "\\PC{0,40}", 1 => "x{60,70}\u{7f}{0,9}[a-z\u{20ac}]{0,9}"];
    prop::collection::hash_set(text, values).prop_map(|texts| texts.into_iter().collect())
}

fn any_column() -> impl Strategy<Value = (Vec<String>, Vec<(u32, u32)>)> {
    (1_usize..50).prop_flat_map(|values| {
        let count = u32::try_from(values).expect("few");
        (any_values(values), any_runs(count))
    })
}

/// Runs cut or prolonged to so many rows.
fn fit(mut runs: Vec<(u32, u32)>, rows: u32) -> Vec<(u32, u32)> {
    let mut left = rows;
    for run in &mut runs {
        run.1 = run.1.min(left);
        left -= run.1;
    }
    runs.retain(|run| run.1 > 0);
    if left > 0 {
        runs.push((runs.first().map_or(NULL, |run| run.0), left));
    }
    runs
}

fn any_group() -> impl Strategy<Value = RunGroup> {
    let numbers = (prop::collection::hash_set(any::<i32>(), 1..30), any_runs(1));
    let times = (prop::collection::hash_set(any::<i64>(), 1..5), any_runs(1));
    (any_column(), any_column(), prop::collection::hash_set("[a-z]{1,8}", 1..70), numbers, times).prop_map(
        |(url, origin, crawlers, numbers, times)| {
            let rows: u32 = url.1.iter().map(|run| run.1).sum();
            let keyed = |runs: Vec<(u32, u32)>, count: usize| -> Vec<(u32, u32)> {
                let count = u32::try_from(count).expect("few");
                let key = |n: usize, key| if key == NULL { key } else { u32::try_from(n).expect("few") % count };
                fit(runs.into_iter().enumerate().map(|(n, run)| (key(n, run.0), run.1)).collect(), rows)
            };
            let crawlers: Vec<_> = crawlers.into_iter().collect();
            let (line_count, time_count) = (numbers.0.len(), times.0.len());
            RunGroup {
                rows,
                columns: vec![
                    RunColumn { values: texts(&url.0), rows: runs(&url.1) },
                    RunColumn { values: texts(&origin.0), rows: runs(&fit(origin.1, rows)) },
                    RunColumn { values: texts(&crawlers), rows: Rows::Cycle },
                    RunColumn {
                        values: Values::Int32(numbers.0.into_iter().collect()),
                        rows: runs(&keyed(numbers.1, line_count)),
                    },
                    RunColumn {
                        values: Values::Int64(times.0.into_iter().collect()),
                        rows: runs(&keyed(times.1, time_count)),
                    },
                ],
            }
        },
    )
}

const READERS: &str = r#"
import duckdb, json
duckdb.sql('SET enable_progress_bar = false')
import pyarrow as pa, pyarrow.parquet as pq
runs, rows = [way + '/decisions/part-00000.parquet' for way in ('runs', 'rows')]
plain = pa.schema([('url', 'string'), ('origin', 'string'), ('crawler', 'string'), ('rule_line', 'int32'),
    ('checked_at', pa.timestamp('us', 'UTC'))])
tables = [pq.read_table(path, read_dictionary=words).cast(plain)
    for path in (runs, rows) for words in ([], ['url', 'origin', 'crawler'])]
assert all(table.equals(tables[0]) for table in tables)
one, other = [f"(SELECT row(url, origin, crawler, rule_line, checked_at) AS r FROM read_parquet('{path}'))" for path in (runs, rows)]
query = f'SELECT count(*), count(*) FILTER (a.r IS DISTINCT FROM b.r) FROM {one} a POSITIONAL JOIN {other} b'
print('rows and different ones', *duckdb.sql(query).fetchall()[0])

files = [pq.ParquetFile(path).metadata for path in (runs, rows)]
for group in range(files[0].num_row_groups):
    for column in range(files[0].num_columns):
        one, other = [file.row_group(group).column(column) for file in files]
        assert one.has_offset_index and one.has_column_index
        assert one.statistics == other.statistics, (group, one.path_in_schema)
        assert one.num_values == other.num_values
columns = 'stats_min_value, stats_max_value, stats_null_count, num_values, path_in_schema, row_group_id, bloom_filter_offset IS NULL'
facts = [duckdb.sql(f"SELECT {columns} FROM parquet_metadata('{path}') ORDER BY ALL").fetchall() for path in (runs, rows)]
assert facts[0] == facts[1]

def nodes(node):
    return [node] + [below for child in node.get('children', []) for below in nodes(child)]

def scan(path, origin):
    connection = duckdb.connect()
    connection.execute("PRAGMA enable_profiling = 'json'; PRAGMA profiling_output = 'profile.json'")
    found = connection.execute(f"SELECT count(*), count(DISTINCT url) FROM read_parquet('{path}') WHERE origin = '{origin}'").fetchall()[0]
    connection.execute('PRAGMA disable_profiling')
    profile = json.load(open('profile.json'))
    operators = [node for root in profile['operator'] for node in nodes(root)]
    return found, [node['row_groups_scanned'] for node in operators if 'row_groups_scanned' in node]

for origin in ('https://www.origin-70003.example', 'https://www.origin-70003.exampl'):
    print('found', *scan(runs, origin)[0])
    assert scan(runs, origin) == scan(rows, origin)
# Only the row group that holds the origin, as far as this DuckDB tells.
assert scan(runs, 'https://www.origin-70003.example')[1] in ([], [1])
"#;

/// Every reader at hand: the rows, the statistics, the page index; one origin is found without reading the others.
#[test]
fn other_readers_see_the_same() {
    let urls = u32::try_from(ROW_GROUP_ROWS / 64).expect("few");
    let groups = [matrix(30_000, urls, 300, 64), matrix(70_000, urls, 3_000, 64), matrix(80_000, 1, 1, 64)];
    let both = Both::write(&schema(), &groups);
    let Some(seen) = python("other_readers_see_the_same", both.folder.path(), "duckdb, pyarrow", READERS) else {
        return;
    };
    assert_eq!(seen, "rows and different ones 2097216 0\nfound 320 5\nfound 0 0\n");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_runs_are_read_as_the_ordinary_writer_wrote_them(groups in prop::collection::vec(any_group(), 1..3)) {
        let both = Both::write(&schema(), &groups);
        compare(&both);
    }
}
