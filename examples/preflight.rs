//! Asks before it fetches: may this crawler read this page now, and by which line?
//!
//! `cargo run --example preflight` asks a small web that is embedded in the program, and needs no network.
//! `cargo run --example preflight -- URL TOKEN CONTACT` asks the origin of a URL for its robots.txt.
#![expect(clippy::print_stdout, reason = "this is what an example is for")]

use std::env;
use std::error::Error;

use robots_audit::audit::preflight::evidence::AnswerFrom;
use robots_audit::audit::preflight::{Identity, Question, Terms, preflight};
use robots_audit::crawlers::{Identified, Registry};
use robots_audit::demo::answer::{Response, Route};
use robots_audit::demo::web::ScriptedWeb;
use robots_audit::origin::Scheme;
use robots_audit::source::cache::Cache;
use robots_audit::source::http::{FetchSettings, Fetcher, Network, user_agent};

/// An agent that asks before it fetches.
struct Agent {
    fetcher: Fetcher,
    cache: Cache,
    identity: Option<Identity>,
    terms: Terms,
}

impl Agent {
    /// Whether a page may be fetched. `hops` is where its redirects have led so far, if it was fetched before.
    async fn may_fetch(&self, url: &str, hops: Option<&[&str]>) -> Result<bool, Box<dyn Error>> {
        let question = Question {
            url: url.to_owned(),
            identity: self.identity.clone(),
            hops: hops.map(|hops| hops.iter().map(|hop| (*hop).to_owned()).collect()),
            terms: self.terms,
        };
        let found = preflight(&self.fetcher, Some(&self.cache), &question).await;
        let evidence = found.evidence;
        let from = evidence.answer_from.map_or("nowhere", AnswerFrom::as_str);
        println!("{}: {url} (answer from: {from})", evidence.decision);
        println!("{}\n", serde_json::to_string(&evidence)?);
        Ok(evidence.may_fetch())
    }
}

fn identity(token: &str, terms: Terms) -> Result<Option<Identity>, Box<dyn Error>> {
    Ok(match Registry::embedded().identify(token)? {
        Identified::Nobody => None,
        Identified::Crawler(crawler) => Some(Identity::of(&crawler, terms.matching, false)),
        Identified::Header { known, .. } => return Err(format!("{token} is a User-Agent header ({known:?})").into()),
    })
}

/// Two sites: one with rules, one that another site's page redirects to.
fn web() -> std::io::Result<ScriptedWeb> {
    let robots = |host: &str, body: &'static str| Route::robots(Scheme::Https, host, Response::text(body));
    ScriptedWeb::start(vec![
        robots("shop.example", "User-agent: *\nDisallow: /cart/\n"),
        robots("login.example", "User-agent: *\nDisallow: /\n"),
    ])
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let copies = tempfile::tempdir()?;
    let cache = Cache::at(copies.path().to_owned());
    let terms = Terms::default();
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [url, token, contact] = &arguments[..] {
        let settings = FetchSettings::new(user_agent(token, contact)?, Network::System);
        let agent = Agent { fetcher: Fetcher::new(settings)?, cache, identity: identity(token, terms)?, terms };
        agent.may_fetch(url, None).await?;
        return Ok(());
    }

    let web = web()?;
    let settings = FetchSettings {
        allowed_addresses: vec!["127.0.0.1/32".parse()?],
        ..FetchSettings::new(user_agent("ExampleBot", "https://bot.example/about")?, Network::Embedded(web.network()))
    };
    let agent = Agent { fetcher: Fetcher::new(settings)?, cache, identity: identity("ExampleBot", terms)?, terms };
    assert!(agent.may_fetch("https://shop.example/tea", None).await?);
    assert!(!agent.may_fetch("https://shop.example/cart/1", None).await?, "a rule forbids it");
    assert_eq!(web.requests(), 1, "the second answer came from the cache");
    let hops = ["https://login.example/?next=/tea"];
    assert!(!agent.may_fetch("https://shop.example/tea", Some(&hops)).await?, "it leads where the crawler may not go");
    assert_eq!(web.requests(), 2, "another origin is another question");
    Ok(())
}
