//! Reads registry entries from CSV text.

use std::collections::HashSet;

use csv::StringRecord;

use super::{Crawler, Kind, ObeysRobots, Purpose, holds_token};

/// The columns, in canonical order.
pub(super) const COLUMNS: [&str; 9] =
    ["token", "operator", "purpose", "kind", "obeys_robots", "fallback_token", "star_applies", "common", "doc_url"];

/// What is wrong with a registry file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// It is no CSV text.
    #[error("{file} is no crawler registry")]
    Csv {
        /// The file.
        file: String,
        /// What the CSV reader said.
        #[source]
        source: csv::Error,
    },
    /// The header lacks the one column that is needed.
    #[error("{file} has no column `token`")]
    NoToken {
        /// The file.
        file: String,
    },
    /// The header names a column that a registry does not have, or one twice.
    #[error("{file} has a column `{column}` that does not belong there (known: {})", COLUMNS.join(", "))]
    Column {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A cell holds what its column does not allow.
    #[error("{file}, line {line}, column `{column}`: `{value}` is not {expected}")]
    Value {
        /// The file.
        file: String,
        /// The line.
        line: u64,
        /// The column.
        column: &'static str,
        /// The cell.
        value: String,
        /// What the column allows.
        expected: String,
    },
    /// A token that an earlier line has.
    #[error("{file}, line {line}, column `token`: `{token}` is there already")]
    Twice {
        /// The file.
        file: String,
        /// The line.
        line: u64,
        /// The token.
        token: String,
    },
}

/// The entries of a text. `known` gives the entry that a token has so far.
pub(super) fn read_entries(
    text: &str,
    file: &str,
    known: impl Fn(&str) -> Option<Crawler>,
) -> Result<Vec<Crawler>, RegistryError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let broken = |source| RegistryError::Csv { file: file.to_owned(), source };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let columns = columns(reader.headers().map_err(broken)?, file)?;
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let row = Row { text, file, columns: &columns, record: &record };
        let token = row.token()?;
        if !seen.insert(token.to_ascii_lowercase()) {
            return Err(RegistryError::Twice { file: file.to_owned(), line: row.line(), token: token.to_owned() });
        }
        entries.push(row.entry(token, known(token))?);
    }
    Ok(entries)
}

/// The known columns in the order in which the header has them.
fn columns(header: &StringRecord, file: &str) -> Result<Vec<&'static str>, RegistryError> {
    let mut columns = Vec::new();
    for name in header {
        match COLUMNS.iter().find(|column| **column == name) {
            Some(column) if !columns.contains(column) => columns.push(*column),
            _ => return Err(RegistryError::Column { file: file.to_owned(), column: name.to_owned() }),
        }
    }
    if columns.contains(&"token") { Ok(columns) } else { Err(RegistryError::NoToken { file: file.to_owned() }) }
}

struct Row<'a> {
    text: &'a str,
    file: &'a str,
    columns: &'a [&'static str],
    record: &'a StringRecord,
}

impl<'a> Row<'a> {
    /// The line of the record. The reader's own count stands before the blank lines that it skips.
    fn line(&self) -> u64 {
        let start = self.record.position().map_or(0, |position| usize::try_from(position.byte()).unwrap_or_default());
        let blank = self.text[start..].bytes().take_while(|octet| matches!(octet, b'\r' | b'\n')).count();
        memchr::memchr_iter(b'\n', &self.text.as_bytes()[..start + blank]).count() as u64 + 1
    }

    /// The cell of a column, where the file has that column.
    fn cell(&self, column: &str) -> Option<&'a str> {
        let index = self.columns.iter().position(|name| *name == column)?;
        self.record.get(index)
    }

    fn token(&self) -> Result<&'a str, RegistryError> {
        let token = self.cell("token").unwrap_or_default();
        if holds_token(token) {
            return Ok(token);
        }
        Err(self.fault("token", token, "a product token"))
    }

    fn entry(&self, token: &str, known: Option<Crawler>) -> Result<Crawler, RegistryError> {
        let mut entry = known.unwrap_or_else(|| Crawler::of_token(token));
        token.clone_into(&mut entry.token);
        if let Some(operator) = self.cell("operator").filter(|cell| !cell.is_empty()) {
            operator.clone_into(&mut entry.operator);
        }
        self.set("purpose", &mut entry.purpose, Purpose::from_name, || listed(Purpose::ALL))?;
        self.set("kind", &mut entry.kind, Kind::from_name, || listed(Kind::ALL))?;
        self.set("obeys_robots", &mut entry.obeys_robots, ObeysRobots::from_name, || listed(ObeysRobots::ALL))?;
        self.set("star_applies", &mut entry.star_applies, yes_or_no, || "yes or no".to_owned())?;
        self.set("common", &mut entry.is_common, yes_or_no, || "yes or no".to_owned())?;
        if let Some(fallback) = self.cell("fallback_token") {
            if !fallback.is_empty() && !holds_token(fallback) {
                return Err(self.fault("fallback_token", fallback, "a product token"));
            }
            entry.fallback = Some(fallback.to_owned()).filter(|token| !token.is_empty());
        }
        if let Some(doc_url) = self.cell("doc_url") {
            entry.doc_url = Some(doc_url.to_owned()).filter(|url| !url.is_empty());
        }
        Ok(entry)
    }

    fn set<T>(
        &self,
        column: &'static str,
        value: &mut T,
        read: impl Fn(&str) -> Option<T>,
        expected: impl Fn() -> String,
    ) -> Result<(), RegistryError> {
        if let Some(cell) = self.cell(column).filter(|cell| !cell.is_empty()) {
            *value = read(cell).ok_or_else(|| self.fault(column, cell, &expected()))?;
        }
        Ok(())
    }

    fn fault(&self, column: &'static str, value: &str, expected: &str) -> RegistryError {
        RegistryError::Value {
            file: self.file.to_owned(),
            line: self.line(),
            column,
            value: value.to_owned(),
            expected: expected.to_owned(),
        }
    }
}

fn yes_or_no(cell: &str) -> Option<bool> {
    match cell {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

fn listed(values: &[impl std::fmt::Display]) -> String {
    let names: Vec<_> = values.iter().map(ToString::to_string).collect();
    format!("one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        read_entries(text, "mine.csv", |_| None).map_or_else(|error| error.to_string(), |_| "none".to_owned())
    }

    #[test]
    fn errors_name_file_line_and_column() {
        for (text, expected) in [
            (
                "token,kind\nA,crawler\nB,robot\n",
                "mine.csv, line 3, column `kind`: `robot` is not one of crawler, user-triggered, control-token",
            ),
            ("token,common\nA,true\n", "mine.csv, line 2, column `common`: `true` is not yes or no"),
            ("token\nA\n\n*\n", "mine.csv, line 4, column `token`: `*` is not a product token"),
            ("token,operator\n,x\n", "mine.csv, line 2, column `token`: `` is not a product token"),
            ("token,fallback_token\nA,*\n", "mine.csv, line 2, column `fallback_token`: `*` is not a product token"),
            ("token\nA\na\n", "mine.csv, line 3, column `token`: `a` is there already"),
            ("operator\nx\n", "mine.csv has no column `token`"),
            ("", "mine.csv has no column `token`"),
            (
                "token,colour\nA,red\n",
                "mine.csv has a column `colour` that does not belong there (known: token, operator, purpose, kind, obeys_robots, fallback_token, star_applies, common, doc_url)",
            ),
            ("token,operator\nA\n", "mine.csv is no crawler registry"),
            ("token\nA\n", "none"),
        ] {
            assert_eq!(fault(text), expected, "{text:?}");
        }
    }
}
