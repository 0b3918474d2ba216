//! The documents say what is: columns, findings, policies, flags and examples are compared with the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use arrow::datatypes::SchemaRef;
use robots_audit::crawlers::{Registry, SETS};
use robots_audit::lint::Linter;
use robots_audit::robots::access::{FetchClass, Outage, Outcome, Policy};
use robots_audit::robots::finding::{Code, FoundBy};
use robots_audit::robots::group::GroupIndex;
use robots_audit::robots::parse::Robots;
use robots_audit::robots::token::Matching;
use robots_audit::signals::Signals;
use robots_audit::signals::conflict::Conflict;
use robots_audit::tables::{
    Table, bodies, captures, crawler_access, crawlers, decisions, fetches, findings, matching_differences,
    response_signals, rules, training, training_verdicts,
};

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect(name)
}

/// The text below a heading, up to the next one of the same or a higher level.
fn section<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("\n{heading}\n"))?;
    let level = heading.split(' ').next().expect("hashes");
    // In an example such a line is a comment.
    let is_heading = |place: &usize| rest[..*place].matches("```").count() % 2 == 0;
    let ends = (1..=level.len()).filter_map(|hashes| {
        let mark = format!("\n{} ", &"######"[..hashes]);
        rest.match_indices(&mark).map(|(place, _)| place).find(is_heading)
    });
    Some(ends.min().map_or(rest, |end| &rest[..end]))
}

/// The cells of the rows whose first cell is code: `| `name` | … |`.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

fn bare(cell: &str) -> &str {
    cell.trim_matches('`')
}

/// What stands between the fences of code blocks in one language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    text.split(opening.as_str()).skip(1).map(|rest| rest.split("```").next().expect("a closing fence")).collect()
}

fn schema(table: Table) -> SchemaRef {
    match table {
        Table::Fetches => fetches::schema(),
        Table::Bodies => bodies::schema(),
        Table::Decisions => decisions::schema(),
        Table::CrawlerAccess => crawler_access::schema(),
        Table::Training => training::schema(),
        Table::TrainingVerdicts => training_verdicts::schema(),
        Table::Rules => rules::schema(),
        Table::Findings => findings::schema(),
        Table::Crawlers => crawlers::schema(),
        Table::MatchingDifferences => matching_differences::schema(),
        Table::Captures => captures::schema(),
        Table::ResponseSignals => response_signals::schema(),
    }
}

fn columns(table: Table) -> Vec<String> {
    schema(table).fields().iter().map(|field| field.name().clone()).collect()
}

#[test]
fn every_column_is_described_and_no_other() {
    let text = document("docs/tables.md");
    for table in Table::ALL {
        let described = section(&text, &format!("## {table}")).unwrap_or_else(|| panic!("no heading for {table}"));
        let named: Vec<&str> = rows(described).iter().map(|cells| bare(cells[0])).collect();
        assert_eq!(named, columns(*table), "{table}");
    }
}

#[test]
fn every_contradiction_is_described_and_no_other() {
    let text = document("docs/tables.md");
    let described = rows(section(&text, "## Conflicts").expect("a section"));
    let named: Vec<&str> = described.iter().map(|cells| bare(cells[0])).collect();
    assert_eq!(named, Conflict::ALL.iter().map(|conflict| conflict.as_str()).collect::<Vec<_>>());
}

#[test]
fn the_readme_names_the_columns_of_every_table() {
    let text = document("README.md");
    let tables = rows(section(&text, "## Tables").expect("a section"));
    let names: Vec<&str> = tables.iter().map(|cells| bare(cells[0])).collect();
    assert_eq!(names, Table::ALL.iter().map(|table| table.as_str()).collect::<Vec<_>>());
    for (cells, table) in tables.iter().zip(Table::ALL) {
        let told: Vec<&str> = cells[2].split(", ").map(bare).collect();
        assert_eq!(told, columns(*table), "{table}");
    }
}

#[test]
fn every_finding_is_explained_by_examples_that_have_it() {
    let text = document("docs/findings.md");
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(headings, Code::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>());
    let linter = Linter::new(Registry::embedded());
    for code in Code::ALL {
        let section = section(&text, &format!("## {code}")).expect("a section");
        let severity = code.severity().as_str();
        assert!(section.trim_start().to_ascii_lowercase().starts_with(severity), "{code} is of severity {severity}");
        let shown = blocks(section, "text").into_iter().map(|text| text.as_bytes().to_vec());
        let examples: Vec<Vec<u8>> = shown.chain(blocks(section, "octets").into_iter().map(octets)).collect();
        let is_too_long_to_show =
            matches!(code, Code::OverLimit | Code::AccessUndetermined | Code::MoreExtensions | Code::MoreFindings);
        assert_eq!(examples.len(), if is_too_long_to_show { 0 } else { 2 }, "{code}");
        for (example, is_bad) in examples.iter().zip([true, false]) {
            let in_table = is_bad && code.found_by() != FoundBy::Lint;
            assert_eq!(is_in_table(example, *code), in_table, "{code}, table");
            let linted = linter.findings(example);
            let linted = linted.iter().find(|found| found.code == *code);
            assert_eq!(linted.is_some(), is_bad && code.found_by() != FoundBy::Audit, "{code}, lint");
            assert!(linted.is_none_or(|found| found.column > 0 && !found.hint().is_empty()), "{code}");
        }
    }
}

fn is_in_table(body: &[u8], code: Code) -> bool {
    let robots = Robots::parse(body, Matching::Rfc9309);
    let signals = Signals::of(&robots, &GroupIndex::of(&robots), body);
    let of_signals = signals.findings(&signals.conflicts(None));
    robots.findings.iter().chain(&of_signals).any(|finding| finding.code == code)
}

/// An example in which `\xNN` stands for one octet.
fn octets(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut octets = parts.next().expect("a part").as_bytes().to_vec();
    for part in parts {
        octets.push(u8::from_str_radix(&part[..2], 16).expect("two hexadecimal digits"));
        octets.extend_from_slice(&part.as_bytes()[2..]);
    }
    octets
}

#[test]
fn the_list_of_findings_is_that_of_the_program() {
    let text = document("docs/findings.md");
    let told: Vec<String> = text.lines().filter(|line| line.starts_with("| [`")).map(str::to_owned).collect();
    let row = |code: &Code| {
        let (severity, found_by) = (code.severity(), code.found_by().as_str());
        format!("| [`{code}`](#{code}) | {severity} | {found_by} |")
    };
    assert_eq!(told, Code::ALL.iter().map(row).collect::<Vec<_>>());
}

#[test]
fn the_readme_has_the_policies_as_they_are() {
    let text = document("README.md");
    let table = rows(section(&text, "## Policies").expect("a section"));
    let told: BTreeSet<&str> = table.iter().map(|cells| bare(cells[0])).collect();
    assert_eq!(told, FetchClass::ALL.iter().map(|class| class.as_str()).collect());
    for cells in table {
        let class = FetchClass::from_name(bare(cells[0])).expect("a class");
        let told: Vec<&str> = cells[2..5].to_vec();
        let outcomes = Policy::ALL.iter().map(|policy| word(policy.outcome(class, Outage::UNKNOWN)));
        assert_eq!(told, outcomes.collect::<Vec<_>>(), "{class}");
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Rules => "rules",
        Outcome::Allow => "allow",
        Outcome::AllowByPolicy => "allow_by_policy",
        Outcome::Deny => "deny",
        Outcome::Defer => "defer",
        Outcome::Unresolved => "unresolved",
    }
}

#[test]
fn the_readme_has_the_sizes_of_the_sets() {
    let text = document("README.md");
    let table = rows(section(&text, "## Crawlers").expect("a section"));
    let registry = Registry::embedded();
    let sizes: Vec<(&str, String)> =
        SETS.iter().map(|(set, _)| (*set, registry.set(set).expect("a set").len().to_string())).collect();
    let told: Vec<(&str, String)> = table.iter().map(|cells| (bare(cells[0]), cells[2].to_owned())).collect();
    assert_eq!(told, sizes);
}

#[test]
fn the_readme_has_the_two_commands() {
    let text = document("README.md");
    for command in ["cargo run --release -- demo", "cargo test"] {
        assert!(text.lines().any(|line| line == command), "{command}");
    }
}

#[test]
fn the_readme_and_the_crate_have_the_same_example() {
    let library = document("src/lib.rs");
    let lines = library.lines().filter_map(|line| line.strip_prefix("//!"));
    let text: String = lines.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned() + "\n").collect();
    let readme = document("README.md");
    assert_eq!(blocks(&readme, "rust"), [blocks(&text, "")[0]]);
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["README.md", "ARCHITECTURE.md", "docs/tables.md", "docs/findings.md"] {
        let folder = root.join(name).parent().expect("a folder").to_owned();
        let text = document(name);
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().expect("an end")) {
            let file = link.split('#').next().expect("a part");
            let is_elsewhere = link.starts_with("https://") || file.is_empty();
            assert!(is_elsewhere || folder.join(file).exists(), "{name}: {link}");
        }
    }
}

#[cfg(feature = "cli")]
mod of_the_program {
    use super::*;
    use crate::duckdb::python;
    use crate::program::{run, temporary, write};

    const COMMANDS: [&str; 13] = [
        "scan",
        "fetch",
        "ingest",
        "audit",
        "report",
        "annotate",
        "filter",
        "check",
        "lint",
        "crawlers",
        "demo",
        "completions",
        "man",
    ];

    fn help(command: &[&str]) -> String {
        run(temporary().path(), &[command, &["--help"]].concat(), 0).0
    }

    #[test]
    fn usage_is_that_of_the_help() {
        let text = document("README.md");
        let told: Vec<&str> = section(&text, "## Commands").map(|section| blocks(section, "text")).expect("a section");
        let told: Vec<&str> = told[0].lines().collect();
        let usage = |command: &&str| {
            let help = help(&[command]);
            let line = help.lines().find_map(|line| line.strip_prefix("Usage: ")).expect("a usage line");
            line.to_owned()
        };
        assert_eq!(told, COMMANDS.iter().map(usage).collect::<Vec<_>>());
        let all = help(&[]);
        let listed = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        let listed: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(listed.split_last().map(|(_, commands)| commands), Some(&COMMANDS[..]), "{all}");
    }

    #[test]
    fn flags_and_variables_exist() {
        /// Flags of cargo.
        const OTHERS: [&str; 3] = ["--release", "--path", "--example"];
        let helps: String = COMMANDS.iter().map(|command| help(&[command])).collect();
        let helps = helps + &help(&["report", "blocklist"]);
        let known = words(&helps);
        let text = document("README.md");
        for word in words(&text) {
            assert!(known.contains(word) || OTHERS.contains(&word), "{word}");
        }
        for variable in known.iter().filter(|word| word.starts_with("ROBOTS_AUDIT_")) {
            assert!(text.contains(variable), "{variable}");
        }
    }

    /// Flags and environment variables that a text names.
    fn words(text: &str) -> BTreeSet<&str> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_flag = |word: &&str| {
            word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
                || word.starts_with("ROBOTS_AUDIT_")
        };
        text.split(|c| !is_part(c)).filter(is_flag).collect()
    }

    #[test]
    fn the_check_prints_what_the_readme_shows() {
        let text = document("README.md");
        let shown = section(&text, "## One file").expect("a section");
        let fenced: Vec<(&str, &str)> =
            shown.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect();
        let folder = temporary();
        write(folder.path(), "robots.txt", fenced[0].1);
        let examples = fenced.windows(2).filter(|pair| pair[0].0 == "sh" && pair[1].0 == "text");
        let printed: Vec<bool> = examples
            .map(|pair| {
                let arguments = arguments(pair[0].1);
                let arguments: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
                assert_eq!(run(folder.path(), &arguments, 0).0, pair[1].1, "{}", pair[0].1);
                true
            })
            .collect();
        assert_eq!(printed.len(), 5);
    }

    /// The words of a command, as a shell parts them: blanks within quotes do not part.
    fn arguments(command: &str) -> Vec<String> {
        let parts = command.trim().split('\'').enumerate();
        let quoted: String =
            parts.map(|(place, part)| if place % 2 == 0 { part.replace(' ', "\0") } else { part.to_owned() }).collect();
        quoted.split('\0').map(str::to_owned).collect()
    }

    #[test]
    fn lint_prints_what_the_readme_shows() {
        let text = document("README.md");
        let shown = section(&text, "## What is odd in a file").expect("a section");
        let [robots, printed] = blocks(shown, "text")[..] else { panic!("a file and what is printed about it") };
        let folder = temporary();
        write(folder.path(), "robots.txt", robots);
        assert_eq!(run(folder.path(), &["lint", "robots.txt"], 0).0, printed);
    }

    /// Asks the questions between `sql` fences and prints the answers in columns, numbers to the right.
    const QUESTIONS: &str = r"
import duckdb, re
connection = duckdb.connect()
connection.execute(open('outputs/demo/views.sql').read())
for question in re.findall('```sql\n(.*?)```', open('README.md').read(), re.S):
    relation = connection.sql(question)
    rows = relation.fetchall()
    def is_number(column):
        return all(isinstance(row[column], (int, float)) for row in rows)
    def text(value):
        if isinstance(value, float):
            return '%.3f' % value
        return 'NULL' if value is None else 'TIME' if hasattr(value, 'isoformat') else str(value)
    cells = [relation.columns] + [[text(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    for row in cells:
        fitted = [v.rjust(w) if is_number(i) else v.ljust(w) for i, (v, w) in enumerate(zip(row, widths))]
        print('  '.join(fitted).rstrip())
    print()
";

    #[test]
    fn the_demo_answers_what_the_readme_shows() {
        let folder = temporary();
        let text = document("README.md");
        write(folder.path(), "README.md", &text);
        let (printed, _) = run(folder.path(), &["demo"], 0);
        let shown = blocks(&text, "text").into_iter().find(|block| block.contains("How they answered"));
        let shown: Vec<&str> = shown.expect("what the demo prints").lines().skip(1).collect();
        for line in shown.iter().filter(|line| line.trim() != "…") {
            assert!(printed.lines().any(|printed| printed == *line), "{line}\n{printed}");
        }
        let section_shown = section(&text, "## Filtering a training set").expect("a section");
        for (commands, shown) in blocks(section_shown, "sh").iter().zip(blocks(section_shown, "text")) {
            let mut printed = String::new();
            for command in commands.trim().replace("\\\n", " ").lines() {
                let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
                printed += &run(folder.path(), &arguments, 0).0;
            }
            assert_eq!(printed, shown);
        }
        let Some(answers) = python("the_demo_answers_what_the_readme_shows", folder.path(), "duckdb", QUESTIONS) else {
            return;
        };
        let questions = section(&text, "## Nine questions").expect("a section");
        let shown = blocks(questions, "text").join("\n") + "\n";
        assert_eq!(squeezed(&answers), squeezed(&shown));
    }

    /// The words of each line: the only times are those of the fetches, and they are another's at every run.
    fn squeezed(answers: &str) -> Vec<Vec<&str>> {
        let is_date = |word: &str| word.len() == 10 && word.split('-').map(str::len).eq([4, 2, 2]);
        let is_time = |word: &&str| is_date(word) || word.ends_with("+00") || *word == "TIME";
        answers.lines().map(|line| line.split_whitespace().filter(|word| !is_time(word)).collect()).collect()
    }
}
