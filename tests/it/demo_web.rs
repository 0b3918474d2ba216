//! The embedded web against the real fetcher: every invented origin ends in the class that it was made for.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use robots_audit::demo::demo_web::DemoWeb;
use robots_audit::origin::Target;
use robots_audit::robots::access::Flag;
use robots_audit::source::http::{FetchSettings, Fetcher, Network, Stop, fetch_all, user_agent};

const ORIGINS: usize = 300;

fn fetcher(web: &DemoWeb) -> Fetcher {
    let agent = user_agent("robots-audit", "https://contact.test/").expect("a user agent");
    Fetcher::new(FetchSettings {
        limits: web.limits(),
        retries: 0,
        per_ip_concurrency: 0,
        per_ip_rate: 0,
        allowed_addresses: web.allowed_addresses(),
        ..FetchSettings::new(agent, Network::Embedded(web.network()))
    })
    .expect("a fetcher")
}

#[test]
fn every_origin_ends_in_its_class() {
    let web = DemoWeb::start(ORIGINS, 20_261_130).expect("a web on loopback");
    let targets: Vec<(String, Target)> =
        web.targets().map(|line| (line.clone(), Target::parse(line.as_bytes()).expect("an origin"))).collect();
    let concurrency = NonZeroUsize::new(64).expect("not 0");
    let mut seen = BTreeMap::new();
    for (line, fetched) in fetch_all(Arc::new(fetcher(&web)), targets.into_iter(), concurrency, Stop::default()) {
        assert!(seen.insert(line.clone(), fetched).is_none(), "{line} came twice");
    }
    assert_eq!(seen.len(), ORIGINS);
    let wrong: Vec<String> = seen
        .iter()
        .filter_map(|(line, fetched)| {
            let (class, reason) = web.expected(line).expect("an origin of the web");
            let seen = &fetched.observation;
            let fits = seen.class == class && (reason.is_none() || seen.reason == reason);
            (!fits).then(|| format!("{line}: {class} {reason:?} expected, {} {:?} seen", seen.class, seen.reason))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {ORIGINS}:\n{}", wrong.len(), wrong.join("\n"));
    let flagged = |flag| seen.values().filter(|fetched| fetched.observation.flags.contains(flag)).count();
    for flag in [Flag::Empty, Flag::SchemeFallback] {
        assert!(flagged(flag) > 0, "{flag} was never seen");
    }
}
