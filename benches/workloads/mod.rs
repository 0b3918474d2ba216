//! Named, seeded workloads: the same octets on every machine, and the shared corpus where it lies beside the repository.

use std::fs;
use std::iter::repeat_n;
use std::path::PathBuf;

use robots_audit::robots::group::GroupIndex;
use robots_audit::robots::parse::Robots;
use robots_audit::robots::path::RawPath;
use robots_audit::robots::rule_sets::RuleSets;
use robots_audit::robots::token::{Asked, Matching};

/// Fifty crawlers; the first, the first five or all are asked for.
pub(crate) const CRAWLERS: [&str; 50] = [
    "GPTBot",
    "Googlebot",
    "bingbot",
    "CCBot",
    "FooBot-unlisted",
    "Googlebot-Image",
    "ChatGPT-User",
    "OAI-SearchBot",
    "ClaudeBot",
    "anthropic-ai",
    "Google-Extended",
    "Applebot",
    "Applebot-Extended",
    "PerplexityBot",
    "Bytespider",
    "Amazonbot",
    "meta-externalagent",
    "img2dataset",
    "MJ12bot",
    "Yandex",
    "AhrefsBot",
    "SemrushBot",
    "DotBot",
    "Baiduspider",
    "DuckDuckBot",
    "Slurp",
    "ia_archiver",
    "facebookexternalhit",
    "Twitterbot",
    "LinkedInBot",
    "Pinterestbot",
    "rogerbot",
    "Exabot",
    "Mediapartners-Google",
    "AdsBot-Google",
    "msnbot",
    "Teoma",
    "SeznamBot",
    "PetalBot",
    "YandexBot",
    "cohere-ai",
    "Diffbot",
    "omgili",
    "FacebookBot",
    "archive.org_bot",
    "Wget",
    "HTTrack",
    "Screaming",
    "BLEXBot",
    "magpie-crawler",
];

/// The crawlers as the rules are asked.
pub(crate) fn asked(crawlers: &[&str]) -> Vec<Asked> {
    crawlers.iter().map(|name| Asked::named(name, Matching::Rfc9309).expect("a token")).collect()
}

/// A body and URLs of its origin.
pub(crate) struct Site {
    pub(crate) body: Vec<u8>,
    pub(crate) urls: Vec<String>,
}

/// The sites of a run, and what they are.
pub(crate) struct Sites {
    pub(crate) name: &'static str,
    pub(crate) list: Vec<Site>,
}

impl Sites {
    /// The shared corpus where it is there, else generated sites.
    pub(crate) fn best() -> Self {
        corpus().unwrap_or_else(generated)
    }

    pub(crate) fn octets(&self) -> u64 {
        self.list.iter().map(|site| site.body.len() as u64).sum()
    }

    pub(crate) fn urls(&self) -> u64 {
        self.list.iter().map(|site| site.urls.len() as u64).sum()
    }
}

fn corpus() -> Option<Sites> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder.join("robots")).ok()?.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    let site = |file: PathBuf| {
        let urls = folder.join("urls").join(file.file_name().expect("a file"));
        let urls = fs::read_to_string(urls).expect("readable").lines().map(str::to_owned).collect();
        Site { body: fs::read(&file).expect("readable"), urls }
    };
    Some(Sites { name: "corpus", list: files.into_iter().map(site).collect() })
}

/// Sites that look like those of the corpus in size, groups, wildcards and URLs.
pub(crate) fn generated() -> Sites {
    let mut seeded = Seeded(9309);
    Sites { name: "generated", list: (0..2_000).map(|_| site(&mut seeded)).collect() }
}

fn site(seeded: &mut Seeded) -> Site {
    let n_groups = [1, 1, 1, 2, 4, 14][seeded.below(6)];
    let mut body = String::new();
    let mut urls = Vec::new();
    for group in 0..n_groups {
        let agent = if group == 0 { "*" } else { CRAWLERS[seeded.below(CRAWLERS.len())] };
        body += &format!("User-agent: {agent}\n");
        let n_rules = [1, 3, 5, 10, 30, 100][seeded.below(6)];
        for _ in 0..n_rules {
            let path = seeded.path();
            body += &rule(seeded, &path, 20);
            urls.push(format!("https://site.test{path}{}", seeded.word()));
        }
        body += "\n# a remark\n";
    }
    body += "Sitemap: https://site.test/sitemap.xml\n";
    urls.truncate(15);
    while urls.len() < 30 {
        urls.push(format!("https://site.test{}", seeded.path()));
    }
    Site { body: body.into_bytes(), urls }
}

fn rule(seeded: &mut Seeded, path: &str, wildcard_percent: usize) -> String {
    let key = if seeded.below(9) == 0 { "Allow" } else { "Disallow" };
    let value = match (seeded.below(100) < wildcard_percent, seeded.below(4)) {
        (false, _) => path.to_owned(),
        (true, 0) => format!("/*{}", &path[1..]),
        (true, 1) => format!("/*?{}=", seeded.word()),
        (true, 2) => format!("{path}*{}", seeded.word()),
        (true, _) => format!("/*.{}$", seeded.word()),
    };
    format!("{key}: {value}\n")
}

/// One group of so many rules, so many of a hundred with wildcards.
pub(crate) fn rules(n_rules: usize, wildcard_percent: usize) -> String {
    let mut seeded = Seeded(n_rules as u64);
    let rules = (0..n_rules).map(|_| {
        let path = seeded.path();
        rule(&mut seeded, &path, wildcard_percent)
    });
    format!("User-agent: *\n{}", rules.collect::<String>())
}

/// Paths for [`rules`]: some lie below a rule, most do not.
pub(crate) fn paths(n_rules: usize) -> Vec<String> {
    let (mut like_the_rules, mut others) = (Seeded(n_rules as u64), Seeded(1));
    (0..1_000)
        .map(|index| match index % 4 {
            0 => format!("{}{}", like_the_rules.path(), others.word()),
            1 => format!("{}?{}={}", others.path(), others.word(), others.below(1_000)),
            _ => others.path(),
        })
        .collect()
}

/// Splitmix64.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    /// Syllables, so that words begin alike as those of real paths do.
    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 16] = [
            "pro", "duct", "in", "dex", "ca", "te", "go", "ry", "ad", "min", "user", "s", "art", "icle", "new", "view",
        ];
        (0..=self.below(4)).map(|_| SYLLABLES[self.below(SYLLABLES.len())]).collect()
    }

    fn path(&mut self) -> String {
        let mut path = String::new();
        for _ in 0..=self.below(3) {
            path += &format!("/{}", self.word());
        }
        match self.below(4) {
            0 => path.push('/'),
            1 => path += &format!("-{}", self.below(100)),
            2 => path += ".html",
            _ => {}
        }
        path
    }
}

/// Every URL against every crawler, parse and compile included.
///
/// A decision is written for each: the deciding line, or 0, and in the lowest bit whether the URL is refused.
#[derive(Default)]
pub(crate) struct Matrix {
    /// The decisions of the site at hand, URL by URL.
    pub(crate) decisions: Vec<u32>,
    of_rule_sets: Vec<u32>,
    verdicts: Vec<robots_audit::robots::verdict::Verdict>,
    path: Vec<u8>,
}

impl Matrix {
    /// Decides about one site.
    pub(crate) fn site(&mut self, site: &Site, asked: &[Asked]) {
        let robots = Robots::parse(&site.body, Matching::Rfc9309);
        let index = GroupIndex::of(&robots);
        let sets = RuleSets::for_paths(&robots, &index, asked, site.urls.len() as u64);
        self.decisions.clear();
        self.decisions.reserve(site.urls.len() * asked.len());
        for url in &site.urls {
            let path = RawPath::of_url(url.as_bytes()).prepare(&mut self.path);
            sets.verdicts(&path, &mut self.verdicts);
            self.of_rule_sets.clear();
            self.of_rule_sets.extend(
                self.verdicts
                    .iter()
                    .map(|verdict| verdict.line().map_or(0, u32::from) << 1 | u32::from(!verdict.is_allowed())),
            );
            match self.of_rule_sets[..] {
                // Most files have one rule set for everybody.
                [decision] => self.decisions.extend(repeat_n(decision, asked.len())),
                _ => self.decisions.extend(sets.crawlers.iter().map(|applied| self.of_rule_sets[applied.rule_set])),
            }
        }
    }

    /// Refused URLs of the site at hand.
    pub(crate) fn refused(&self) -> u64 {
        self.decisions.iter().map(|decision| u64::from(decision & 1)).sum()
    }

    /// Decisions and refusals of all sites.
    pub(crate) fn count(&mut self, sites: &[Site], asked: &[Asked]) -> (u64, u64) {
        sites.iter().fold((0, 0), |(decisions, refused), site| {
            self.site(site, asked);
            (decisions + self.decisions.len() as u64, refused + self.refused())
        })
    }
}
