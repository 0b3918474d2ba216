//! Rows of a table in an `SQLite` database, opened for reading alone.

use std::path::{Path, PathBuf};

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::status::STATUS;
use super::{Chosen, Row, Rows, RowsError};
use crate::source::time::TIME;
use crate::source::told::{Reading, Told};

/// The first octets of every database.
pub(super) const MAGIC: &[u8] = b"SQLite format 3";

/// Rows read at once; bodies are large, so few.
const BATCH_ROWS: i64 = 1_024;
const BATCH_ROWS_WITH_BODIES: i64 = 64;

/// Octets of the longest value: a body, and some more.
const VALUE_OCTETS: i32 = 64 << 20;

/// A table and its columns.
struct Table {
    name: String,
    columns: Vec<String>,
}

impl Table {
    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|own| own == column)
    }
}

/// The names of columns: those of the only table that has a URL and a body by their usual names, or that is the only
/// one, as they are; all others behind their table's name and a dot.
pub(super) fn columns(path: &Path) -> Result<Vec<String>, RowsError> {
    let tables = tables(path)?;
    let usual: Vec<&Table> =
        tables.iter().filter(|table| (table.has("url") || table.has("origin")) && table.has("body")).collect();
    let plain = match (&usual[..], &tables[..]) {
        ([table], _) => Some(*table),
        ([], [table]) => Some(table),
        _ => None,
    };
    let mut names: Vec<String> = plain.map(|table| table.columns.clone()).unwrap_or_default();
    for table in &tables {
        names.extend(table.columns.iter().map(|column| format!("{}.{column}", table.name)));
    }
    Ok(names)
}

/// The rows of a table, in the order of their row numbers.
pub(super) fn rows(path: &Path, columns: &Chosen, with_bodies: bool) -> Result<Rows, RowsError> {
    let tables = tables(path)?;
    let own = |column: &str, table: &Table| match column.strip_prefix(&format!("{}.", table.name)) {
        Some(column) if table.has(column) => Some(column.to_owned()),
        _ => table.has(column).then(|| column.to_owned()),
    };
    let asked = [Some(&columns.url), Some(&columns.body), columns.status.as_ref(), columns.time.as_ref()];
    let found = tables.iter().find_map(|table| {
        let owned: Vec<Option<Option<String>>> =
            asked.iter().map(|column| column.map_or(Some(None), |column| own(column, table).map(Some))).collect();
        owned.into_iter().collect::<Option<Vec<_>>>().map(|owned| (table, owned))
    });
    let (table, owned) = found.ok_or_else(|| RowsError::NoColumn {
        path: path.to_owned(),
        column: columns.url.clone(),
        what: "url",
        columns: "no table has them all".to_owned(),
    })?;
    let value = |place: usize| owned[place].as_deref().map_or("NULL".to_owned(), quoted);
    let body = if with_bodies { value(1) } else { "NULL".to_owned() };
    let batch = if with_bodies { BATCH_ROWS_WITH_BODIES } else { BATCH_ROWS };
    let sql = format!(
        "SELECT rowid, {}, {body}, {}, {} FROM {} WHERE rowid > ?1 ORDER BY rowid LIMIT {batch}",
        value(0),
        value(2),
        value(3),
        quoted(&table.name)
    );
    let read = Batches { path: path.to_owned(), database: open(path)?, sql, before: Some(i64::MIN) };
    Ok(Box::new(read.flat_map(|batch| match batch {
        Ok(rows) => rows.into_iter().map(|row| Ok(Some(row))).collect::<Vec<_>>(),
        Err(error) => vec![Err(error)],
    })))
}

/// A database of strangers may hold anything: it is not written, and runs no code of its own.
fn open(path: &Path) -> Result<Connection, RowsError> {
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(path, flags)?;
        database.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_OCTETS)?;
        database.pragma_update(None, "trusted_schema", false)?;
        Ok(database)
    };
    open().map_err(|source| RowsError::Sqlite { path: path.to_owned(), source })
}

/// Ordinary tables with row numbers; views and virtual tables are programs.
fn tables(path: &Path) -> Result<Vec<Table>, RowsError> {
    let database = open(path)?;
    let read = || {
        let mut names = database.prepare(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0 AND name NOT LIKE \
             'sqlite~_%' ESCAPE '~' ORDER BY name",
        )?;
        let names = names.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
        let table = |name: String| {
            let mut columns = database.prepare("SELECT name FROM pragma_table_info(?1)")?;
            let columns = columns.query_map([&name], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok(Table { name, columns })
        };
        names.into_iter().map(table).collect::<Result<Vec<_>, rusqlite::Error>>()
    };
    read().map_err(|source| RowsError::Sqlite { path: path.to_owned(), source })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

struct Batches {
    path: PathBuf,
    database: Connection,
    sql: String,
    /// The last row number that was read; `None` at the end.
    before: Option<i64>,
}

impl Iterator for Batches {
    type Item = Result<Vec<Row>, RowsError>;

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.before.take()?;
        let read = || {
            let mut statement = self.database.prepare(&self.sql)?;
            let rows = statement.query_map([before], |row| Ok((row.get::<_, i64>(0)?, row_of(row)?)))?;
            rows.collect::<Result<Vec<_>, rusqlite::Error>>()
        };
        match read() {
            Ok(rows) => {
                self.before = Some(rows.last()?.0);
                Some(Ok(rows.into_iter().map(|(_, row)| row).collect()))
            }
            Err(source) => Some(Err(RowsError::Sqlite { path: self.path.clone(), source })),
        }
    }
}

fn row_of(row: &rusqlite::Row<'_>) -> Result<Row, rusqlite::Error> {
    let octets = |value: ValueRef<'_>| match value {
        ValueRef::Text(octets) | ValueRef::Blob(octets) => Some(octets.to_vec()),
        _ => None,
    };
    Ok(Row {
        url: octets(row.get_ref(1)?),
        body: octets(row.get_ref(2)?),
        status: told(row.get_ref(3)?, &STATUS),
        time: told(row.get_ref(4)?, &TIME),
    })
}

fn told<T: Copy>(value: ValueRef<'_>, reading: &Reading<T>) -> Told<T> {
    match value {
        ValueRef::Null => Told::Nothing,
        ValueRef::Integer(number) => Told::read((reading.integer)(number)),
        ValueRef::Real(number) => Told::read((reading.float)(number)),
        ValueRef::Text(octets) | ValueRef::Blob(octets) => reading.of_text(octets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(sql: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        Connection::open(file.path()).unwrap().execute_batch(sql).unwrap();
        file
    }

    fn chosen(url: &str, body: &str) -> Chosen {
        Chosen { url: url.to_owned(), body: body.to_owned(), status: None, time: None }
    }

    #[test]
    fn every_row_comes_in_order_with_octets_as_they_are() {
        let file = database(
            "CREATE TABLE \"odd \"\"name\"(url TEXT, body BLOB, status, time); CREATE TABLE other(x);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
             INSERT INTO \"odd \"\"name\" SELECT 'https://n' || i || '.test/', x'ff00' || i, '404', i FROM n;",
        );
        let names = columns(file.path()).unwrap();
        assert!(names.contains(&"url".to_owned()) && names.contains(&"other.x".to_owned()), "{names:?}");
        let asked = Chosen { status: Some("status".into()), time: Some("time".into()), ..chosen("url", "body") };
        for with_bodies in [false, true] {
            let read: Vec<Row> =
                rows(file.path(), &asked, with_bodies).unwrap().map(|row| row.unwrap().unwrap()).collect();
            assert_eq!(read.len(), 3_000);
            let row = &read[1_499];
            assert_eq!(
                (row.url.as_deref(), row.status, row.time),
                (Some(&b"https://n1500.test/"[..]), Told::This(404), Told::This(1_500_000_000))
            );
            assert_eq!(row.body.is_some(), with_bodies);
        }
    }

    #[test]
    fn what_is_no_table_of_captures_is_said() {
        let file = database("CREATE TABLE a(url, body); CREATE TABLE b(url, body); CREATE VIEW c AS SELECT 1 AS url;");
        assert_eq!(columns(file.path()).unwrap(), ["a.url", "a.body", "b.url", "b.body"]);
        assert_eq!(rows(file.path(), &chosen("b.url", "b.body"), true).unwrap().count(), 0);
        assert!(rows(file.path(), &chosen("a.url", "b.body"), true).is_err());
        let damaged = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(damaged.path(), [MAGIC, &[0; 200]].concat()).unwrap();
        assert!(columns(damaged.path()).is_err());
    }
}
