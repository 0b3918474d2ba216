//! User-agent lines against the registry: names that are almost those of known crawlers, and crawlers that are gone.

use std::collections::{HashMap, HashSet};

use super::{File, Linter, Note, Notes};
use crate::crawlers::Registry;
use crate::robots::finding::Code;
use crate::robots::lex::Line;
use crate::robots::parse::is_training_near_miss;
use crate::robots::slip::is_slip;
use crate::robots::token::{Agent, Matching};

/// The names of a registry, prepared for comparison.
#[derive(Debug)]
pub(super) struct KnownNames {
    /// Letters and digits in lower case, and the name.
    by_letters: HashMap<Vec<u8>, String>,
    /// The same by how many letters and digits there are.
    by_length: Vec<Vec<(Vec<u8>, String)>>,
    /// Names with a blank, in lower case.
    with_blank: HashSet<Vec<u8>>,
}

/// Letters of a name for which one wrong letter is likely a slip and not another name.
const SLIP_LETTERS: usize = 7;

/// Names of others, or of the same operators, that look like slips.
const OTHERS: [&[u8]; 10] = [
    b"antibot",
    b"buddy",
    b"grobbot",
    b"pingbot",
    b"pinterest",
    b"roger",
    b"roverbot",
    b"semrushbotsa",
    b"snapbot",
    b"grok",
];

/// Names compared of one file.
const NAMES: usize = 4_096;

impl KnownNames {
    pub(super) fn of(registry: &Registry) -> Self {
        let (mut by_letters, mut by_length, mut with_blank) = (HashMap::new(), Vec::new(), HashSet::new());
        for crawler in registry.crawlers() {
            let name = &crawler.token;
            if name.contains(' ') {
                with_blank.insert(name.to_ascii_lowercase().into_bytes());
                continue;
            }
            let letters = letters_of(name.as_bytes());
            if by_length.len() <= letters.len() {
                by_length.resize_with(letters.len() + 1, Vec::new);
            }
            by_length[letters.len()].push((letters.clone(), name.clone()));
            by_letters.entry(letters).or_insert_with(|| name.clone());
        }
        Self { by_letters, by_length, with_blank }
    }

    pub(super) fn is_known_with_blank(&self, value: &[u8]) -> bool {
        self.with_blank.contains(&value.to_ascii_lowercase())
    }

    /// The name that was probably meant.
    fn meant(&self, name: &[u8]) -> Option<&str> {
        let letters = letters_of(name);
        if OTHERS.contains(&&letters[..]) {
            return None;
        }
        if let Some(known) = self.by_letters.get(&letters) {
            return Some(known);
        }
        if let Some(known) = self.by_letters.get(&[&letters[..], b"bot"].concat()) {
            return Some(known);
        }
        let slip = |length: usize| {
            let known = self.by_length.get(length).filter(|_| length.min(letters.len()) >= SLIP_LETTERS)?;
            known.iter().find(|(known, _)| is_slip(known, &letters)).map(|(_, name)| name.as_str())
        };
        let length = letters.len();
        (length.saturating_sub(1)..=length + 1).find_map(slip)
    }
}

fn letters_of(name: &[u8]) -> Vec<u8> {
    name.iter().filter(|octet| octet.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
}

/// A name out of use, since when, and what to name instead.
struct Retired {
    token: &'static str,
    why: &'static str,
    instead: Option<&'static str>,
}

const fn retired(token: &'static str, why: &'static str, instead: &'static str) -> Retired {
    Retired { token, why, instead: Some(instead) }
}

const fn gone(token: &'static str, why: &'static str) -> Retired {
    Retired { token, why, instead: None }
}

/// Names that their operators withdrew, or whose operators are no more.
const RETIRED: [Retired; 14] = [
    retired("anthropic-ai", "Anthropic no longer uses it", "ClaudeBot"),
    retired("Claude-Web", "Anthropic no longer uses it", "ClaudeBot"),
    retired("Googlebot-Mobile", "Google crawls for telephones as Googlebot", "Googlebot"),
    retired("msnbot", "Microsoft crawls as Bingbot since 2010", "Bingbot"),
    retired("msnbot-media", "Microsoft crawls as Bingbot since 2010", "Bingbot"),
    retired("ia_archiver", "Alexa Internet closed in 2022", "archive.org_bot"),
    gone("AdsBot-Google-Mobile-Apps", "Google retired it"),
    gone("DuplexWeb-Google", "Google retired it"),
    gone("googleweblight", "Google retired it"),
    gone("Teoma", "Ask.com gave up its own crawler in 2010"),
    gone("Twiceler", "Cuil closed in 2010"),
    gone("ScoutJet", "Blekko closed in 2015"),
    gone("Scooter", "AltaVista closed in 2013"),
    gone("FAST-WebCrawler", "AlltheWeb closed in 2011"),
];

pub(super) fn check<'a>(linter: &Linter, file: &File<'a>, notes: &mut Notes<'a>) {
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let agents = file.robots.groups.iter().flat_map(|group| &group.agents);
    for (line, agent) in agents {
        if let Agent::Token(token) = *agent
            && seen.len() < NAMES
            && seen.insert(token.to_ascii_lowercase())
        {
            name(linter, file, (*line, token), notes);
        }
    }
}

fn name<'a>(linter: &Linter, file: &File<'a>, (line, token): (Line, &'a [u8]), notes: &mut Notes<'a>) {
    if let Some(retired) = RETIRED.iter().find(|retired| retired.token.as_bytes().eq_ignore_ascii_case(token)) {
        let note = Note::new(line, Code::RetiredToken, token).detail(retired.why.to_owned());
        let instead = retired.instead.filter(|instead| file.naming(instead).is_empty());
        notes.add(match instead {
            Some(instead) => note.advice(format!("name `{instead}` if that is whom you mean")),
            None => note,
        });
        return;
    }
    let is_known = linter.registry.get(&String::from_utf8_lossy(token)).is_some();
    if is_known || is_training_near_miss(token, Matching::Rfc9309) {
        return;
    }
    if let Some(meant) = linter.names.meant(token) {
        let is_policy = linter.registry.get(meant).is_some_and(crate::crawlers::Crawler::is_policy_token);
        let code = if is_policy { Code::TrainingTokenNearMiss } else { Code::CrawlerNearMiss };
        notes.add(Note::new(line, code, token).advice(format!("write `{meant}`")));
    }
}
