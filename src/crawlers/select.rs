//! Which crawlers a run asks about: tokens, sets, or a file of them.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{Crawler, Registry, SETS, holds_token};

/// Octets of the longest file of tokens that is read.
const FILE_OCTETS: u64 = 1024 * 1024;

/// The name that asks for the wildcard group itself.
const WILDCARD: &str = "*";

/// A crawler that a run asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedCrawler {
    /// The token as typed; as the registry spells it where a set named it. `*` is the wildcard group.
    pub name: String,
    /// What the registry knows of it.
    pub crawler: Option<Crawler>,
}

impl AskedCrawler {
    /// Whether the wildcard group itself is asked.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.name == WILDCARD
    }
}

/// Why a list of crawlers cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// A set that does not exist.
    #[error("no set of crawlers is called `{name}` (there are {})", SETS.map(|(name, _)| name).join(", "))]
    UnknownSet {
        /// What was asked for.
        name: String,
    },
    /// Text that no product token begins with.
    #[error("`{name}` is no product token")]
    NoToken {
        /// What was asked for.
        name: String,
    },
    /// Nothing is asked for.
    #[error("no crawler is named in `{asked}`")]
    Empty {
        /// The list or file.
        asked: String,
    },
    /// The file cannot be read.
    #[error("cannot read the crawlers in {file}")]
    File {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Registry {
    /// The crawlers of a comma list of tokens and sets, such as `@common,GPTBot`, or of a file that holds them (one or
    /// more a line, `#` comments), if a file of that name exists.
    ///
    /// Tokens that differ in case only are one; the first spelling stays. Tokens unknown to the registry are taken.
    ///
    /// # Errors
    /// An unknown set, something that is no token, an unreadable file, or nothing at all.
    pub fn select(&self, asked: &str) -> Result<Vec<AskedCrawler>, SelectionError> {
        // A folder may bear the name of a token.
        let is_file = Path::new(asked).exists() && !Path::new(asked).is_dir();
        let text = if is_file { read_file(asked)? } else { asked.to_owned() };
        let mut chosen = Chosen::default();
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            for name in line.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                self.choose(name, &mut chosen)?;
            }
        }
        if chosen.crawlers.is_empty() {
            return Err(SelectionError::Empty { asked: asked.to_owned() });
        }
        Ok(chosen.crawlers)
    }

    fn choose(&self, name: &str, chosen: &mut Chosen) -> Result<(), SelectionError> {
        if name.starts_with('@') {
            let set = self.set(name).ok_or_else(|| SelectionError::UnknownSet { name: name.to_owned() })?;
            for crawler in set {
                chosen.add(&crawler.token, Some(crawler));
            }
        } else if name == WILDCARD || holds_token(name) {
            chosen.add(name, self.get(name));
        } else {
            return Err(SelectionError::NoToken { name: name.to_owned() });
        }
        Ok(())
    }
}

#[derive(Default)]
struct Chosen {
    crawlers: Vec<AskedCrawler>,
    seen: HashSet<String>,
}

impl Chosen {
    fn add(&mut self, name: &str, crawler: Option<&Crawler>) {
        if self.seen.insert(name.to_ascii_lowercase()) {
            self.crawlers.push(AskedCrawler { name: name.to_owned(), crawler: crawler.cloned() });
        }
    }
}

fn read_file(file: &str) -> Result<String, SelectionError> {
    let failed = |source| SelectionError::File { file: file.to_owned(), source };
    let mut text = String::new();
    let opened = File::open(file).map_err(failed)?;
    opened.take(FILE_OCTETS + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_OCTETS {
        return Err(failed(io::Error::other(format!("the file is longer than {FILE_OCTETS} octets"))));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(asked: &str) -> String {
        match Registry::embedded().select(asked) {
            Ok(crawlers) => crawlers.into_iter().map(|crawler| crawler.name).collect::<Vec<_>>().join(" "),
            Err(error) => format!("! {error}"),
        }
    }

    #[test]
    fn tokens_stay_as_typed_and_sets_as_registered() {
        assert_eq!(names("gptbot, FooBot ,GPTBOT,*,foobot"), "gptbot FooBot *");
        assert!(
            names("gptbot,@common").starts_with("gptbot Applebot-Extended Google-Extended ClaudeBot Bytespider CCBot")
        );
        assert!(names("@common,gptbot,Sogou web spider").ends_with("Bingbot Sogou web spider"));
        assert_eq!(names("@ai-training").split(' ').count(), names("@ai-training,@ai-training").split(' ').count());
    }

    #[test]
    fn entries_are_found_without_regard_to_case() {
        let asked = Registry::embedded().select("gptBOT,FooBot,*").expect("crawlers");
        let known: Vec<_> =
            asked.iter().map(|asked| asked.crawler.as_ref().map(|found| found.token.as_str())).collect();
        assert_eq!(known, [Some("GPTBot"), None, None]);
        assert!(asked[2].is_wildcard());
    }

    #[test]
    fn what_cannot_be_asked_for() {
        for (asked, expected) in [
            (
                "@nothing",
                "! no set of crawlers is called `@nothing` (there are @common, @ai, @ai-training, @search, @all)",
            ),
            ("GPTBot,/x", "! `/x` is no product token"),
            ("**", "! `**` is no product token"),
            ("é", "! `é` is no product token"),
            (" , ,", "! no crawler is named in ` , ,`"),
            ("", "! no crawler is named in ``"),
        ] {
            assert_eq!(names(asked), expected);
        }
    }

    #[test]
    fn a_file_is_read_where_it_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("list");
        std::fs::write(&path, "\u{feff}# mine\r\nGPTBot, @search # and more\r\n\r\nFooBot\r\n").expect("written");
        let list = names(path.to_str().expect("a path"));
        assert!(list.starts_with("GPTBot Googlebot Bingbot") && list.ends_with(" FooBot"), "{list}");
        std::fs::write(&path, [0xFF, 0xFE]).expect("written");
        assert!(names(path.to_str().expect("a path")).starts_with("! cannot read the crawlers in "));
        assert!(names(folder.path().to_str().expect("a path")).ends_with("is no product token"));
        assert!(names(&format!("{}x", path.display())).ends_with("is no product token"));
    }
}
