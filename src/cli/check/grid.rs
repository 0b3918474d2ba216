//! Several answers side by side: a grid of URLs and crawlers, or a list where there is one of either.

use super::Checked;
use super::screen::{COLUMNS, Ink, Screen, fitted, widest, width};
use super::words::{cell, ink, parting, rule_or_source, training_cell, training_words};
use crate::audit::explain::{Explanation, Panel, TrainingExplanation};
use crate::audit::plan::Plan;
use crate::robots::group::GroupSource;
use crate::robots::parse::TRAINING_TOKEN;
use crate::signals::training::Preference;

/// Columns between two others.
const GAP: usize = 2;

/// Columns of a URL in a list or grid.
const URL_COLUMNS: usize = 60;

/// The answers, in the form that fits their number.
pub(super) fn answers(screen: &mut Screen, checked: &Checked<'_>, panel: &Panel<'_>) {
    screen.end();
    match (checked.places().len(), checked.urls) {
        (0, _) => training(screen, checked),
        (1, urls) => one_crawler(screen, checked, panel, urls),
        (_, [url]) => {
            screen.line(Ink::Strong, &fitted(url, COLUMNS));
            let names = checked.plan.crawlers.iter().map(|crawler| crawler.token.as_str());
            crawlers(screen, checked.plan, panel, url, widest(names), |_| false);
            training_row(screen, checked, url);
        }
        _ => grid(screen, checked, panel),
    }
    partings(screen, checked);
}

/// A list of URLs for one crawler.
fn one_crawler(screen: &mut Screen, checked: &Checked<'_>, panel: &Panel<'_>, urls: &[String]) {
    let answers: Vec<Explanation> = urls.iter().map(|url| panel.explain(0, url.as_bytes())).collect();
    let rows = urls.iter().zip(&answers).map(|(url, explanation)| Row {
        head: url,
        line: explanation.answer.hit.map(|hit| hit.line.into()),
        ink: ink(explanation.answer.decision),
        answer: explanation.answer.decision.as_str(),
        rule: Some(rule_or_source(explanation)),
    });
    list(screen, &checked.plan.crawlers[0].token, &rows.collect::<Vec<_>>());
}

/// A list of URLs for the training token.
fn training(screen: &mut Screen, checked: &Checked<'_>) {
    let told = |url: &String| checked.subject.training(url.as_bytes());
    let answers: Vec<TrainingExplanation> = checked.urls.iter().map(told).collect();
    let words: Vec<String> = answers.iter().map(training_words).collect();
    let rows = checked.urls.iter().zip(&answers).zip(&words).map(|((url, training), words)| Row {
        head: url,
        line: training.rule.as_ref().map(|(_, line)| *line),
        ink: training_ink(training.preference),
        answer: words,
        rule: training.rule.as_ref().map(|(rule, _)| rule.clone()),
    });
    list(screen, TRAINING_TOKEN, &rows.collect::<Vec<_>>());
}

/// A line of a list.
struct Row<'r> {
    head: &'r str,
    line: Option<u32>,
    ink: Ink,
    answer: &'r str,
    rule: Option<String>,
}

fn list(screen: &mut Screen, heading: &str, rows: &[Row<'_>]) {
    let heads: Vec<String> = rows.iter().map(|row| fitted(row.head, URL_COLUMNS)).collect();
    let head_columns = widest(heads.iter().map(String::as_str)).max(width("URL"));
    let lines: Vec<String> = rows.iter().map(|row| line_text(row.line)).collect();
    let line_columns = widest(lines.iter().map(String::as_str)).max(width("line"));
    screen.left(Ink::Faint, "URL", head_columns + GAP).right(Ink::Faint, "line", line_columns);
    screen.put(Ink::Plain, "  ").line(Ink::Strong, heading);
    for ((row, head), line) in rows.iter().zip(&heads).zip(&lines) {
        screen.left(Ink::Plain, head, head_columns + GAP).right(Ink::Plain, line, line_columns);
        screen.put(Ink::Plain, "  ").put(row.ink, row.answer).put(Ink::Plain, " ");
        let rule = row.rule.as_deref().map_or_else(String::new, |rule| fitted(rule, COLUMNS));
        screen.line(Ink::Plain, &rule);
    }
}

fn line_text(line: Option<u32>) -> String {
    line.map_or_else(|| "-".to_owned(), |line| line.to_string())
}

/// A list of the crawlers of a plan for one URL, names in so many columns; those that are marked stand out.
pub(super) fn crawlers(
    screen: &mut Screen,
    plan: &Plan,
    panel: &Panel<'_>,
    url: &str,
    name_columns: usize,
    is_marked: impl Fn(&str) -> bool,
) {
    for (place, name) in plan.crawlers.iter().enumerate() {
        let explanation = panel.explain(place, url.as_bytes());
        crawler(screen, &name.token, name_columns, is_marked(&name.token), &explanation);
    }
}

/// One line of such a list.
pub(super) fn crawler(screen: &mut Screen, name: &str, columns: usize, is_marked: bool, explanation: &Explanation) {
    let (mark, name_ink) = if is_marked { ("> ", Ink::Strong) } else { ("  ", Ink::Plain) };
    let group = explanation.group_source.map_or("-", GroupSource::as_str);
    let line = line_text(explanation.answer.hit.map(|hit| hit.line.into()));
    let columns = columns.clamp(TRAINING_COLUMNS, URL_COLUMNS) + GAP;
    screen.put(name_ink, mark).left(name_ink, &fitted(name, URL_COLUMNS), columns);
    screen.left(Ink::Faint, group, GROUP_COLUMNS).right(Ink::Plain, &line, LINE_COLUMNS).put(Ink::Plain, "  ");
    screen.put(ink(explanation.answer.decision), explanation.answer.decision.as_str()).put(Ink::Plain, " ");
    screen.line(Ink::Plain, &fitted(&rule_or_source(explanation), COLUMNS / 2));
}

/// Columns of the word that says how a group was found.
const GROUP_COLUMNS: usize = 10;

/// Columns of a line number in a list of crawlers.
const LINE_COLUMNS: usize = 5;

/// Columns that the word `training` takes in the place of a crawler.
const TRAINING_COLUMNS: usize = 8;

/// What the training token says of a URL, below its crawlers; nothing where nobody names it.
fn training_row(screen: &mut Screen, checked: &Checked<'_>, url: &str) {
    if !checked.subject.names_training_token() {
        return;
    }
    let training = checked.subject.training(url.as_bytes());
    let names = checked.plan.crawlers.iter().map(|crawler| crawler.token.as_str());
    let name_columns = widest(names).clamp(TRAINING_COLUMNS, URL_COLUMNS);
    let line = line_text(training.rule.as_ref().map(|(_, line)| *line));
    screen.put(Ink::Plain, "  ").left(Ink::Plain, "training", name_columns + GAP);
    screen.left(Ink::Plain, "", GROUP_COLUMNS).right(Ink::Plain, &line, LINE_COLUMNS);
    screen.put(Ink::Plain, "  ").put(training_ink(training.preference), &training_words(&training));
    let rule = training.rule.map_or_else(String::new, |(rule, _)| fitted(&rule, COLUMNS / 2));
    screen.put(Ink::Plain, " ").line(Ink::Plain, &rule);
}

pub(super) const fn training_ink(preference: Preference) -> Ink {
    match preference {
        Preference::InFavor => Ink::Good,
        Preference::Against => Ink::Bad,
        Preference::Unknown => Ink::Care,
        Preference::NoneExpressed => Ink::Plain,
    }
}

/// Cells of a grid, row by row, with their heads.
struct Cells {
    heads: Vec<String>,
    rows: Vec<(String, Vec<(Ink, String)>)>,
}

impl Cells {
    /// URLs down, crawlers across, and the training token where the file names it.
    fn of(checked: &Checked<'_>, panel: &Panel<'_>) -> Self {
        let names_token = checked.subject.names_training_token();
        let mut heads: Vec<String> =
            checked.plan.crawlers.iter().map(|crawler| fitted(&crawler.token, URL_COLUMNS)).collect();
        heads.extend(names_token.then(|| "training".to_owned()));
        let row = |url: &String| {
            let answers = checked.places().map(|place| panel.explain(place, url.as_bytes()));
            let mut cells: Vec<_> = answers.map(|answer| (ink(answer.answer.decision), cell(&answer))).collect();
            let training = checked.subject.training(url.as_bytes());
            cells.extend(names_token.then(|| (training_ink(training.preference), training_cell(&training))));
            (fitted(url, URL_COLUMNS), cells)
        };
        Self { heads, rows: checked.urls.iter().map(row).collect() }
    }

    fn head_columns(&self) -> usize {
        widest(self.rows.iter().map(|(head, _)| head.as_str()))
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|(_, cells)| cells.get(column)).map(|(_, text)| text.as_str());
        widest(cells.chain([self.heads[column].as_str()]))
    }

    fn columns(&self) -> usize {
        self.head_columns() + (0..self.heads.len()).map(|column| GAP + self.column_width(column)).sum::<usize>()
    }

    /// Crawlers down, and URLs across by their number.
    fn turned(&self) -> Self {
        let row = |(place, head): (usize, &String)| {
            (head.clone(), self.rows.iter().map(|(_, cells)| cells[place].clone()).collect())
        };
        let heads = (1..=self.rows.len()).map(|number| format!("[{number}]"));
        Self { heads: heads.collect(), rows: self.heads.iter().enumerate().map(row).collect() }
    }

    fn put(&self, screen: &mut Screen) {
        let head_columns = self.head_columns();
        let widths: Vec<usize> = (0..self.heads.len()).map(|column| self.column_width(column)).collect();
        screen.left(Ink::Plain, "", head_columns);
        for (head, width) in self.heads.iter().zip(&widths) {
            screen.put(Ink::Plain, "  ").left(Ink::Strong, head, *width);
        }
        screen.end();
        for (head, cells) in &self.rows {
            screen.left(Ink::Plain, head, head_columns);
            for ((ink, text), width) in cells.iter().zip(&widths) {
                screen.put(Ink::Plain, "  ").left(*ink, text, *width);
            }
            screen.end();
        }
    }
}

/// The grid; turned where it would be wide, with a list of the URLs above it.
fn grid(screen: &mut Screen, checked: &Checked<'_>, panel: &Panel<'_>) {
    let cells = Cells::of(checked, panel);
    let turned = cells.turned();
    if cells.columns() <= COLUMNS || turned.columns() >= cells.columns() {
        cells.put(screen);
        return;
    }
    for (number, url) in (1..).zip(checked.urls) {
        screen.put(Ink::Strong, &format!("[{number}] ")).line(Ink::Plain, &fitted(url, COLUMNS));
    }
    screen.end();
    turned.put(screen);
}

/// Where the two modes of matching part, below the answers.
fn partings(screen: &mut Screen, checked: &Checked<'_>) {
    let mut is_first = true;
    for url in checked.urls {
        for found in checked.subject.partings(checked.plan, url.as_bytes()) {
            if std::mem::take(&mut is_first) {
                screen.heading("Where the modes of matching part");
            }
            let crawler = &checked.plan.crawlers[found.crawler].token;
            screen.put(Ink::Plain, "  ").put(Ink::Plain, &fitted(url, URL_COLUMNS)).put(Ink::Plain, "  ");
            screen.put(Ink::Plain, crawler).put(Ink::Plain, "  ").line(Ink::Care, &parting(&found));
        }
    }
}
