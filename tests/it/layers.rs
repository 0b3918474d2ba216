//! The order of imports, which the compiler does not check inside a package: reads `src/` and fails on a name that
//! stands further right in [`ORDER`], and on anything impure in the modules that promise to be pure.

use std::fs;
use std::path::{Path, PathBuf};

/// A module names only those to its left.
const ORDER: [&str; 14] = [
    "robots", "signals", "crawlers", "lint", "origin", "tables", "source", "audit", "dataset", "report", "config",
    "demo", "cli", "main",
];

/// Octets in, values out.
const PURE: [&str; 3] = ["robots", "signals", "lint"];

/// What a pure module must not take from the standard library.
const IMPURE_STD: [&str; 7] = ["fs", "net", "io", "time", "env", "thread", "process"];

/// Words that a pure module has no use for.
const IMPURE_WORDS: [&str; 10] =
    ["tokio", "tracing", "async", "await", "static", "thread_local", "println", "eprintln", "print", "eprint"];

#[test]
fn modules_name_only_those_to_their_left() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_below(&source);
    assert!(files.len() > 40, "only {} files found", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&source).expect("found below it");
        let Some(place) = Place::of(inside) else { continue };
        let text = fs::read_to_string(&file).expect("readable");
        wrong.extend(violations(&place, &text).into_iter().map(|what| format!("{}: {what}", inside.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Where a file stands in the tree of modules.
struct Place {
    /// The module below the root.
    module: String,
    /// How many `super` lead from it to the root.
    depth: usize,
}

impl Place {
    /// `None` for the two roots, which name everything.
    fn of(path: &Path) -> Option<Self> {
        let mut parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let last = parts.pop()?;
        if last != "mod.rs" {
            parts.push(last.trim_end_matches(".rs").to_owned());
        }
        let is_root = parts == ["lib"] || parts == ["main"];
        (!is_root).then(|| Self { module: parts[0].clone(), depth: parts.len() })
    }
}

/// Everything in a file that the order of imports or the promise of purity forbids.
fn violations(place: &Place, text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let mut wrong = Vec::new();
    let Some(own) = rank(&place.module) else {
        return vec![format!("`{}` has no place in the order", place.module)];
    };
    for path in root_paths(&tokens, place.depth) {
        match rank(&path) {
            Some(other) if other <= own => {}
            Some(_) => wrong.push(format!("`{}` names `{path}`, which is not to its left", place.module)),
            None => {
                wrong.push(format!("`{}` names `{path}` of the root, which is no module of the order", place.module));
            }
        }
    }
    if PURE.contains(&&place.module[..]) {
        wrong.extend(impurities(&tokens).into_iter().map(|what| format!("`{}` is pure, but has {what}", place.module)));
    }
    wrong.dedup();
    wrong
}

fn rank(module: &str) -> Option<usize> {
    ORDER.iter().position(|name| *name == module)
}

fn impurities(tokens: &[Token<'_>]) -> Vec<String> {
    let from_std = places_of(tokens, "std").flat_map(|at| expand(&tokens[at..]).0);
    let from_std =
        from_std.filter_map(|path| path.get(1).copied().filter(|part| IMPURE_STD.contains(part) || *part == "*"));
    let words = IMPURE_WORDS.iter().filter(|word| places_of(tokens, word).next().is_some()).copied();
    from_std.map(|part| format!("`std::{part}`")).chain(words.map(|word| format!("`{word}`"))).collect()
}

fn places_of<'t>(tokens: &'t [Token<'_>], word: &'t str) -> impl Iterator<Item = usize> + 't {
    tokens.iter().enumerate().filter(move |(_, token)| **token == Token::Word(word)).map(|(at, _)| at)
}

/// What a file names directly below the root, by `crate::`, the package's own name, or enough `super`.
fn root_paths(tokens: &[Token<'_>], file_depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut inline = InlineModules::default();
    let mut at = 0;
    while at < tokens.len() {
        inline.step(&tokens[at..]);
        match tokens[at] {
            Token::Word("crate" | "robots_audit") if is_path_start(tokens, at) => {
                let (paths, used) = expand(&tokens[at..]);
                found.extend(paths.iter().map(|path| path.get(1).copied().unwrap_or("crate").to_owned()));
                at += used;
            }
            Token::Word("super") => {
                let (paths, used) = expand(&tokens[at..]);
                found.extend(paths.iter().filter_map(|path| above(path, file_depth + inline.open.len())));
                at += used;
            }
            _ => at += 1,
        }
    }
    found
}

/// Not `pub(crate)`, which names nothing, and not a field or method that happens to be called so.
fn is_path_start(tokens: &[Token<'_>], at: usize) -> bool {
    let next = |offset: usize| tokens.get(at + offset);
    let goes_on = next(1) == Some(&Token::Mark(':')) && next(2) == Some(&Token::Mark(':'));
    let is_renamed = next(1) == Some(&Token::Word("as"));
    goes_on || is_renamed
}

/// What a path that begins with `super` names below the root, if it leads there.
fn above(path: &[&str], depth: usize) -> Option<String> {
    let supers = path.iter().take_while(|part| **part == "super").count();
    (supers >= depth).then(|| path.get(supers).copied().unwrap_or("crate").to_owned())
}

/// Modules written inside the file that are open at a place: each takes one more `super` to leave.
#[derive(Default)]
struct InlineModules {
    braces: usize,
    /// Open braces when each began.
    open: Vec<usize>,
}

impl InlineModules {
    fn step(&mut self, rest: &[Token<'_>]) {
        match rest {
            [Token::Word("mod"), Token::Word(_), Token::Mark('{'), ..] => self.open.push(self.braces),
            [Token::Mark('{'), ..] => self.braces += 1,
            [Token::Mark('}'), ..] => {
                self.braces = self.braces.saturating_sub(1);
                if self.open.last() == Some(&self.braces) {
                    self.open.pop();
                }
            }
            _ => {}
        }
    }
}

/// The paths that a path or tree of imports at the beginning of these tokens stands for, and the tokens it takes.
fn expand<'t>(tokens: &[Token<'t>]) -> (Vec<Vec<&'t str>>, usize) {
    let mut path = Vec::new();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(Token::Word(word)) => path.push(*word),
            Some(Token::Mark('*')) => path.push("*"),
            Some(Token::Mark('{')) => {
                let (branches, used) = branches(&tokens[at + 1..]);
                let whole = |branch: Vec<&'t str>| [&path[..], &branch[..]].concat();
                return (branches.into_iter().map(whole).collect(), at + 1 + used);
            }
            _ => return (vec![path], at.max(1)),
        }
        at += 1;
        match tokens.get(at..at + 2) {
            Some([Token::Mark(':'), Token::Mark(':')]) => at += 2,
            _ => return (vec![path], at),
        }
    }
}

/// The branches of a tree behind its opening brace; a `self` stands for the tree's own path.
fn branches<'t>(tokens: &[Token<'t>]) -> (Vec<Vec<&'t str>>, usize) {
    let mut paths = Vec::new();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            None => return (paths, at),
            Some(Token::Mark('}')) => return (paths, at + 1),
            Some(Token::Word("as")) => at += 2,
            Some(Token::Word("self")) => {
                paths.push(Vec::new());
                at += 1;
            }
            Some(Token::Word(_) | Token::Mark('{' | '*')) => {
                let (more, used) = expand(&tokens[at..]);
                paths.extend(more);
                at += used;
            }
            Some(Token::Mark(_)) => at += 1,
        }
    }
}

/// What is left of Rust source where only names matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Mark(char),
}

/// Words and marks; comments, literals and lifetimes are left out.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = comment(rest).or_else(|| literal(rest));
        let len = match skipped {
            Some(len) => len,
            None if is_word(first) => {
                let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                tokens.push(Token::Word(&rest[..len]));
                len
            }
            None => {
                if !first.is_whitespace() {
                    tokens.push(Token::Mark(first));
                }
                first.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Octets of a comment at the beginning.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        match rest {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    Some(at)
}

/// Octets of a string, a character or a lifetime at the beginning.
fn literal(text: &str) -> Option<usize> {
    let quoted = text.trim_start_matches(['b', 'c', 'r']);
    let prefix = text.len() - quoted.len();
    let is_raw = prefix > 0 && text[..prefix].ends_with('r');
    let hashes = quoted.len() - quoted.trim_start_matches('#').len();
    if prefix <= 2 && is_raw && quoted[hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let body = &quoted[hashes + 1..];
        return Some(prefix + hashes + 1 + body.find(&end).map_or(body.len(), |at| at + end.len()));
    }
    if prefix <= 1 && quoted.starts_with('"') {
        return Some(prefix + escaped(quoted, '"'));
    }
    if prefix <= 1 && quoted.starts_with('\'') {
        return Some(prefix + character_or_lifetime(quoted));
    }
    None
}

/// Octets up to the closing quote and with it.
fn escaped(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn character_or_lifetime(text: &str) -> usize {
    let mut after = text.chars().skip(1);
    let is_character = match (after.next(), after.next()) {
        (Some('\\'), _) => true,
        (_, next) => next == Some('\''),
    };
    if is_character {
        return escaped(text, '\'');
    }
    1 + text[1..].find(|c| !is_word(c)).unwrap_or(text.len() - 1)
}

/// Violations of a file at a path below `src/`.
fn found(path: &str, text: &str) -> Vec<String> {
    violations(&Place::of(Path::new(path)).expect("no root"), text)
}

#[test]
fn a_planted_import_is_caught() {
    for (path, text) in [
        ("robots/lex.rs", "use crate::tables::fetches;"),
        ("robots/lex.rs", "use crate::{robots::path, signals::training};"),
        ("robots/lex.rs", "use crate::{\n    robots::{path, token},\n    origin::{self, Origin},\n};"),
        ("robots/lex.rs", "fn f() -> crate :: audit::Plan { todo!() }"),
        ("signals/mod.rs", "use crate::*;"),
        ("signals/mod.rs", "use crate as root;"),
        ("signals/mod.rs", "use crate::{self as root};"),
        ("signals/training.rs", "use super::super::source;"),
        ("signals/training.rs", "use super::super;"),
        ("signals/training.rs", "use super::{super::source, other};"),
        ("signals/training.rs", "mod tests { use super::super::super::audit; }"),
        ("origin.rs", "use super::tables::Table;"),
        ("crawlers/mod.rs", "use super::origin::Origin;"),
        ("source/http/mod.rs", "mod tests { fn f() {} } use super::super::cli::run;"),
        ("source/http/mod.rs", "macro_rules! m { () => { $crate::audit::run() } }"),
        ("tables/mod.rs", "use robots_audit::source::folder;"),
        ("audit/mod.rs", "fn f<'a>(c: char) -> bool { c == '\"' || crate::report::g() }"),
        ("config/mod.rs", "const S: &str = r#\"\"#; use crate::cli;"),
        ("audit/mod.rs", "use crate::VERSION;"),
        ("helpers.rs", ""),
    ] {
        assert_eq!(found(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn planted_impurity_is_caught() {
    for text in [
        "use std::fs::File;",
        "use std::{collections::HashMap, io::{self, Read}};",
        "fn f() { let _ = std::time::Instant::now(); }",
        "use std::*;",
        "async fn f() {}",
        "fn f() { println!(\"x\"); }",
        "static N: u8 = 0;",
        "tracing::info!(\"x\");",
    ] {
        assert_eq!(found("robots/lex.rs", text).len(), 1, "{text}");
        assert_eq!(found("tables/sink.rs", text), [""; 0], "{text}");
    }
}

#[test]
fn what_is_allowed_passes() {
    for (path, text) in [
        ("robots/path.rs", "pub(crate) use names; pub(in crate::robots) fn f() {} use super::lex::Line;"),
        ("robots/mod.rs", "mod tests { use super::*; mod inner { use super::super::lex; } }"),
        ("signals/training.rs", "use crate::robots::{access::names, token}; mod tests { use super::super::other; }"),
        ("source/input/distinct.rs", "use super::super::folder; mod tests { use super::super::super::http; }"),
        ("cli/demo.rs", "use crate::{audit, demo, robots};"),
        (
            "robots/lex.rs",
            "//! [`crate::audit`]\n/* crate::cli /* std::fs */ */ // tokio\nconst S: &str = \"crate::cli\";",
        ),
        (
            "robots/lex.rs",
            "const S: &[u8] = br##\"crate::cli \"# \\\"##; const C: char = '\\''; fn f(s: &'static str) {}",
        ),
    ] {
        assert_eq!(found(path, text), [""; 0], "{path}: {text}");
    }
}
