//! `views.sql`: a view per table, and ready questions, for DuckDB.

use std::path::Path;

use super::Table;

/// Ready questions, each with the tables that it reads; what several of them use comes first.
const QUESTIONS: [(&[Table], &str); 8] = [
    (&[Table::Fetches], include_str!("views/rank_bands.sql")),
    (&[Table::Training, Table::Fetches], include_str!("views/adoption.sql")),
    (&[Table::Training, Table::Fetches], include_str!("views/adoption_by_signal.sql")),
    (&[Table::ResponseSignals, Table::Fetches], include_str!("views/adoption_by_header_signal.sql")),
    (&[Table::CrawlerAccess, Table::Fetches], include_str!("views/blocked_by_crawler.sql")),
    (&[Table::Decisions, Table::Fetches], include_str!("views/evidence.sql")),
    (&[Table::Training, Table::CrawlerAccess], include_str!("views/conflicts.sql")),
    (&[Table::CrawlerAccess], include_str!("views/star_rule_traps.sql")),
];

/// The text of `views.sql` for a folder that holds these tables.
///
/// The folder's absolute path stands in one place, to be edited after a move.
#[must_use]
pub fn sql(folder: &Path, tables: &[Table]) -> String {
    let mut sql = format!(
        "-- Views over the tables of this folder. Start with: duckdb -init views.sql\n\
         -- After moving the folder, change this path and no other.\n\
         SET VARIABLE robots_audit = '{}';\n\n",
        quoted(folder)
    );
    for table in tables {
        sql += &format!(
            "CREATE OR REPLACE VIEW {table} AS\n    \
             SELECT * FROM read_parquet(getvariable('robots_audit') || '/{table}/part-*.parquet');\n"
        );
    }
    sql += "\nCREATE OR REPLACE VIEW runs AS\n    \
            SELECT * FROM read_json(getvariable('robots_audit') || '/run.json');\n";
    for (reads, question) in QUESTIONS {
        if reads.iter().all(|table| tables.contains(table)) {
            sql += "\n";
            sql += question;
        }
    }
    sql
}

/// The path inside a SQL string and a glob pattern: quotes are doubled, wildcards are put in brackets.
fn quoted(folder: &Path) -> String {
    let mut text = String::new();
    for c in folder.to_string_lossy().chars() {
        match c {
            '\'' => text += "''",
            // In a glob pattern a backslash may stand for what follows it, even in brackets; `?` is any one character.
            '\\' => text.push('?'),
            '*' | '?' | '[' => text += &format!("[{c}]"),
            _ => text.push(c),
        }
    }
    text
}
