//! The program as a user runs it: a command, its exit code, its words, its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

/// A folder for one test; it goes away at the end.
pub(crate) fn temporary() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Runs the program in a folder, without the settings of whoever runs the tests.
pub(crate) fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_robots-audit"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ROBOTS_AUDIT_")) {
        command.env_remove(name);
    }
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

/// Runs the program and expects an exit code.
pub(crate) fn run(folder: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let output = run_in(folder, arguments);
    let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).expect("the program writes UTF-8");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{stdout}\n{stderr}");
    (stdout, stderr)
}

/// Writes a file of a test.
pub(crate) fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(&path, text).expect("a file");
    path
}

/// The rows of a table that is a single file, each column as text; null is `None`.
pub(crate) fn table(folder: &Path, table: &str, columns: &[&str]) -> Vec<Vec<Option<String>>> {
    rows_of(&folder.join(table).join("part-00000.parquet"), columns)
}

/// The rows of all files of a table, each column as text; null is `None`.
pub(crate) fn all_parts(folder: &Path, table: &str, columns: &[&str]) -> Vec<Vec<Option<String>>> {
    let files = fs::read_dir(folder.join(table)).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut parts: Vec<_> = files.collect();
    parts.sort_unstable();
    parts.iter().flat_map(|part| rows_of(part, columns)).collect()
}

/// The rows of one file.
pub(crate) fn rows_of(path: &Path, columns: &[&str]) -> Vec<Vec<Option<String>>> {
    let file = fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build().expect("a reader");
    reader.flat_map(|batch| rows(&batch.expect("a whole batch"), columns)).collect()
}

fn rows(batch: &RecordBatch, columns: &[&str]) -> Vec<Vec<Option<String>>> {
    let texts: Vec<_> = columns
        .iter()
        .map(|name| {
            let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
            let is_time = matches!(column.data_type(), DataType::Timestamp(..));
            let plain = if is_time { cast(column, &DataType::Int64).expect("a number") } else { column.clone() };
            cast(&plain, &DataType::Utf8).expect("text").as_string::<i32>().clone()
        })
        .collect();
    let cell = |row: usize, column: usize| texts[column].is_valid(row).then(|| texts[column].value(row).to_owned());
    (0..batch.num_rows()).map(|row| (0..columns.len()).map(|column| cell(row, column)).collect()).collect()
}
