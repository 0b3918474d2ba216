//! `X-Robots-Tag`: tokens, after an agent those for it alone.
//!
//! Sources: the documents of Google Search about the field, of `DeviantArt` about `noai` and `noimageai`, of Bing and
//! Amazon about `noarchive` and `nocache`. The field has no grammar of its own; a list of tokens in any case is what its
//! readers agree on. Every line of it begins for everybody again.

use super::STATEMENTS_TOLD;
use crate::robots::access::names;

names! {
    /// The tokens that have to do with AI. `noarchive` and `nocache` are those of search engines, of which some keep
    /// content out of training and answers for them.
    pub enum Tag {
        /// No use by AI.
        NoAi => "noai",
        /// The same of images.
        NoImageAi => "noimageai",
        /// No machine learning.
        NoMl => "noml",
        /// No copy is to be shown.
        NoArchive => "noarchive",
        /// The same.
        NoCache => "nocache",
    }
}

/// Rules with a value behind a colon, which are no agents.
const WITH_VALUE: [&[u8]; 4] = [b"unavailable_after", b"max-snippet", b"max-image-preview", b"max-video-preview"];
/// Octets of the longest agent.
const AGENT_OCTETS: usize = 64;

/// The tokens with their agents, each once, at most [`STATEMENTS_TOLD`].
#[must_use]
pub fn tags(value: &[u8]) -> Vec<(Option<&[u8]>, Tag)> {
    let mut tags = Vec::new();
    for tag in all(value) {
        if tags.len() == STATEMENTS_TOLD {
            break;
        }
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// Whether there is a token.
pub(super) fn has_token(value: &[u8]) -> bool {
    all(value).next().is_some()
}

fn all(value: &[u8]) -> impl Iterator<Item = (Option<&[u8]>, Tag)> {
    let mut agent = None;
    value.split(|octet| *octet == b',').filter_map(move |piece| {
        let mut token = piece.trim_ascii();
        if let Some((named, rest)) = agent_of(token) {
            agent = Some(named);
            token = rest;
        }
        let is_it = |tag: &&Tag| tag.as_str().as_bytes().eq_ignore_ascii_case(token);
        Tag::ALL.iter().find(is_it).map(|tag| (agent, *tag))
    })
}

/// The agent that the tokens from here on are for, and what stands behind its colon.
fn agent_of(piece: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = piece.iter().position(|octet| *octet == b':')?;
    let (agent, rest) = (piece[..colon].trim_ascii_end(), piece[colon + 1..].trim_ascii());
    // A date has commas and colons as well, but neither begins with a letter and goes on without a blank.
    let begins = agent.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'*');
    let is_name = agent.iter().all(|octet| octet.is_ascii_alphanumeric() || b"-_./*".contains(octet));
    let has_value = WITH_VALUE.iter().any(|rule| rule.eq_ignore_ascii_case(agent));
    (begins && is_name && !has_value && agent.len() <= AGENT_OCTETS).then_some((agent, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_their_agents() {
        for (value, expected) in [
            ("noai, noimageai", "noai, noimageai"),
            ("NoAI,noai , noindex,NOML", "noai, noml"),
            ("examplebot: noindex, noai", "examplebot noai"),
            (
                "noai, examplebot: nocache, b-2/1.0 : noarchive, noml",
                "noai, examplebot nocache, b-2/1.0 noarchive, b-2/1.0 noml",
            ),
            ("*: noai", "* noai"),
            ("unavailable_after: 25 Jun 2027 15:00:00 PST, noai", "noai"),
            ("unavailable_after: Friday, 25-Jun-27 15:00:00 UTC, noai", "noai"),
            ("Unavailable_After: 2027-06-25T15:00:00+00:00, noai", "noai"),
            ("examplebot: unavailable_after: 25 Jun 2027, noai", "examplebot noai"),
            ("max-snippet: 20, max-image-preview:large, noarchive", "noarchive"),
            ("two words: noai", ""),
            (": noai", ""),
            ("noai noimageai", ""),
            ("noai;x", ""),
            ("xnoai", ""),
            ("noindex", ""),
            ("", ""),
        ] {
            let tags = tags(value.as_bytes()).into_iter().map(|(agent, tag)| {
                agent.map_or_else(String::new, |agent| String::from_utf8_lossy(agent).into_owned() + " ") + tag.as_str()
            });
            assert_eq!(tags.collect::<Vec<_>>().join(", "), expected, "{value:?}");
            assert_eq!(has_token(value.as_bytes()), !expected.is_empty(), "{value:?}");
        }
    }
}
