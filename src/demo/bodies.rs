//! Robots.txt bodies that nobody ever served, but might have.
//!
//! A body is put together from the habits of its kind of site, what it says to crawlers that train models, and
//! small oddities of writing. Many sites keep the text that their software came with: those bodies are identical.

use std::fmt::Write;

use bytes::Bytes;

use super::seeded::Seeded;

/// The kind of a site: its name begins with it, and its paths look like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Blog,
    Shop,
    News,
    Wiki,
    Forum,
    University,
    Council,
    Docs,
    Archive,
    Portfolio,
}

impl Sort {
    /// More often seen sorts stand more than once.
    pub(super) const WEIGHTED: &'static [Self] = &[
        Self::Blog,
        Self::Blog,
        Self::Blog,
        Self::Shop,
        Self::Shop,
        Self::News,
        Self::News,
        Self::Wiki,
        Self::Forum,
        Self::University,
        Self::Council,
        Self::Docs,
        Self::Archive,
        Self::Portfolio,
        Self::Portfolio,
    ];

    /// The first part of the names of such sites.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Blog => "blog",
            Self::Shop => "shop",
            Self::News => "news",
            Self::Wiki => "wiki",
            Self::Forum => "forum",
            Self::University => "uni",
            Self::Council => "council",
            Self::Docs => "docs",
            Self::Archive => "archive",
            Self::Portfolio => "portfolio",
        }
    }

    /// What such a site tells everybody.
    const fn rules(self) -> &'static [&'static str] {
        match self {
            Self::Blog => &["Disallow: /admin/", "Allow: /admin/feed.php", "Disallow: /trackback/", "Disallow: /?s="],
            Self::Shop => &[
                "Disallow: /cart/",
                "Disallow: /checkout/",
                "Disallow: /account/",
                "Disallow: /*?sort=",
                "Disallow: /*&filter=",
                "Allow: /*?page=",
                "Disallow: /*.pdf$",
            ],
            Self::News => &["Disallow: /search", "Disallow: /print/", "Disallow: /api/", "Allow: /api/oembed"],
            Self::Wiki => &[
                "Disallow: /index.php?",
                "Disallow: /Special:",
                "Disallow: /*/history$",
                "Disallow: /*action=edit",
                "Allow: /Special:Sitemap",
            ],
            Self::Forum => &["Disallow: /members/", "Disallow: /login", "Disallow: /*/reply$", "Disallow: /*?sid="],
            Self::University => &["Disallow: /intranet/", "Disallow: /~staff/private/", "Disallow: /cgi-bin/"],
            Self::Council => &["Disallow: /forms/", "Disallow: /caf%C3%A9/", "Allow: /forms/index.html"],
            Self::Docs => &["Disallow: /v1/", "Disallow: /*/draft/", "Allow: /v1/changes$"],
            Self::Archive => &["Disallow: /scans/", "Disallow: /search?", "Allow: /scans/index"],
            Self::Portfolio => &["Disallow:"],
        }
    }

    /// Paths that a crawler may want from such a site.
    pub(super) const fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Blog => &["/", "/2026/10/first-frost", "/admin/", "/admin/feed.php", "/?s=frost"],
            Self::Shop => &["/", "/lamps/blue?page=2", "/lamps/blue?sort=price", "/cart/", "/manuals/lamp.pdf"],
            Self::News => &["/", "/articles/town-hall", "/print/town-hall", "/api/oembed?id=7", "/members/offers"],
            Self::Wiki => {
                &["/", "/Lighthouse", "/Lighthouse/history", "/Special:Sitemap", "/index.php?title=Lighthouse"]
            }
            Self::Forum => &["/", "/threads/knots-4711", "/threads/knots-4711/reply", "/members/17", "/threads/?sid=1"],
            Self::University => &["/", "/courses/", "/open-data/tides.csv", "/intranet/", "/~staff/private/notes"],
            Self::Council => &["/", "/waste/calendar", "/forms/parking", "/forms/index.html", "/caf\u{e9}/menu"],
            Self::Docs => &["/", "/v2/install", "/v1/install", "/v1/changes", "/v2/draft/plan"],
            Self::Archive => &["/", "/items/1872", "/scans/1872-01.tif", "/open-data/index.json", "/search?q=map"],
            Self::Portfolio => &["/", "/work/", "/about", "/images/harbour.jpg"],
        }
    }
}

/// Tokens of crawlers that collect texts for models, most often named first.
const TRAINING_CRAWLERS: &[&str] = &[
    "GPTBot",
    "CCBot",
    "ClaudeBot",
    "Google-Extended",
    "Bytespider",
    "anthropic-ai",
    "Applebot-Extended",
    "Amazonbot",
    "meta-externalagent",
    "PerplexityBot",
    "ChatGPT-User",
    "cohere-ai",
];

/// The body of one site.
pub(super) fn robots_txt(seeded: &mut Seeded, sort: Sort, host: &str) -> Bytes {
    if seeded.chance(12) {
        return Bytes::from_static(untouched(seeded));
    }
    let mut draft = Draft::default();
    if seeded.chance(25) {
        draft.line(seeded.pick(&[
            "# Be kind to our small server.",
            "# Questions? Ask the people who run this site.",
            "# robots.txt, edited by hand",
        ]));
    }
    everybody(&mut draft, seeded, sort);
    if seeded.chance(30) {
        training_crawlers(&mut draft, seeded);
    }
    if seeded.chance(8) {
        training_preference(&mut draft, seeded);
    }
    if seeded.chance(10) {
        other_crawlers(&mut draft, seeded);
    }
    if seeded.chance(6) {
        long_list(&mut draft, seeded);
    }
    if seeded.chance(55) {
        // The name of the site makes the body its own.
        let _ = writeln!(draft.text, "\nSitemap: https://{host}/sitemap.xml");
        other_signals(&mut draft, host);
    }
    written(seeded, draft.text)
}

/// Texts that come with the software and stay as they are.
fn untouched(seeded: &mut Seeded) -> &'static [u8] {
    const TEXTS: &[&[u8]] = &[
        b"User-agent: *\nDisallow:\n",
        b"User-agent: *\nAllow: /\n",
        b"User-agent: *\nDisallow: /\n",
        b"User-agent: *\nDisallow: /admin/\nAllow: /admin/feed.php\n",
        b"# Generated with the site. Change it as you like.\nUser-agent: *\nDisallow: /cgi-bin/\nDisallow: /tmp/\n",
    ];
    seeded.pick(TEXTS)
}

#[derive(Default)]
struct Draft {
    text: String,
}

impl Draft {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn group(&mut self, tokens: &[&str], rules: &[&str]) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        for token in tokens {
            let _ = writeln!(self.text, "User-agent: {token}");
        }
        for rule in rules {
            self.line(rule);
        }
    }
}

fn everybody(draft: &mut Draft, seeded: &mut Seeded, sort: Sort) {
    if seeded.chance(4) {
        draft.group(&["*"], &["Disallow: /"]);
        draft.group(&["Googlebot", "Bingbot"], &["Allow: /"]);
        return;
    }
    let own = sort.rules();
    // Sites drop rules from the end of what they found somewhere.
    let kept = if seeded.chance(50) { own.len() } else { own.len().div_ceil(2) };
    draft.group(&["*"], &own[..kept]);
    if seeded.chance(10) {
        draft.line(seeded.pick(&["Crawl-delay: 10", "Crawl-delay: 1", "Crawl-delay: 0.5"]));
    }
    if seeded.chance(4) {
        draft.line(seeded.pick(&[
            "Content-Signal: search=yes, ai-train=no",
            "Content-Signal: search=yes, ai-input=yes, ai-train=yes",
            "Content-Usage: train-ai=n",
            "Content-Usage: /open-data/ train-ai=y",
        ]));
    }
}

fn training_crawlers(draft: &mut Draft, seeded: &mut Seeded) {
    let named = 1 + usize::try_from(seeded.below(TRAINING_CRAWLERS.len() as u64)).expect("a small number");
    let tokens = &TRAINING_CRAWLERS[..named];
    match seeded.below(10) {
        0..=3 => draft.group(tokens, &["Disallow: /"]),
        4..=5 => {
            for token in tokens {
                draft.group(&[token], &["Disallow: /"]);
            }
        }
        6..=7 => draft.group(tokens, &["Disallow: /articles/", "Disallow: /members/", "Disallow: /images/"]),
        8 => draft.group(tokens, &["Disallow: /", "Allow: /$", "Allow: /about", "Allow: /open-data/"]),
        _ => draft.group(tokens, &["Allow: /"]),
    }
}

fn training_preference(draft: &mut Draft, seeded: &mut Seeded) {
    const TOKEN: &str = "__usage_ai-training";
    match seeded.below(12) {
        0..=3 => draft.group(&[TOKEN], &["Disallow: /"]),
        4..=5 => draft.group(&[TOKEN], &["Disallow: /", "Allow: /open-data/"]),
        6..=7 => draft.group(&[TOKEN], &["Allow: /", "Disallow: /members/", "Disallow: /articles/"]),
        8 => draft.group(&[TOKEN], &["Allow: /"]),
        9 => draft.group(&[TOKEN], &["Allow: /open-data/", "Disallow: /images/", "Disallow: /*.pdf$"]),
        10 => draft.group(&["GPTBot", TOKEN], &["Disallow: /"]),
        _ => draft.group(&["_usage_ai-training"], &["Disallow: /"]),
    }
}

/// A licence, and the block that a vendor puts in front. Neither changes what a crawler may fetch.
fn other_signals(draft: &mut Draft, host: &str) {
    const MANAGED: &str = "# BEGIN Cloudflare Managed content\n\nUser-agent: *\n\
        Content-Signal: search=yes, ai-train=no\nDisallow:\n\n# END Cloudflare Managed Content\n\n";
    let name = host.bytes().fold(0, |name: u64, octet| name.wrapping_mul(31).wrapping_add(octet.into()));
    let mut seeded = Seeded::new(9309, name);
    if seeded.chance(5) {
        draft.text.insert_str(0, "License: https://licences.example/rsl.xml\n\n");
    }
    if seeded.chance(8) {
        draft.text.insert_str(0, MANAGED);
    }
}

fn other_crawlers(draft: &mut Draft, seeded: &mut Seeded) {
    let token = seeded.pick(&["Googlebot-Image", "Bingbot", "AhrefsBot", "SemrushBot", "MJ12bot", "archive.org_bot"]);
    let rule = seeded.pick(&["Disallow: /", "Disallow: /images/", "Disallow:", "Dissallow: /tmp/"]);
    draft.group(&[token], &[rule, "Crawl-delay: 5"]);
}

/// Hundreds of rules, as left behind by years of moves.
fn long_list(draft: &mut Draft, seeded: &mut Seeded) {
    draft.group(&["*"], &[]);
    for _ in 0..50 + seeded.below(600) {
        let (section, item) = (seeded.below(40), seeded.below(100_000));
        let _ = match seeded.below(8) {
            0 => writeln!(draft.text, "Disallow: /old/{section}/*/{item}$"),
            1 => writeln!(draft.text, "Allow: /old/{section}/{item}/index"),
            _ => writeln!(draft.text, "Disallow: /old/{section}/{item}"),
        };
    }
}

/// The oddities of writing.
fn written(seeded: &mut Seeded, mut text: String) -> Bytes {
    if seeded.chance(3) {
        text = text.replace("User-agent:", "user-agent :").replace("Disallow:", "disallow:");
    }
    if seeded.chance(10) {
        text = text.replace('\n', "\r\n");
    }
    if seeded.chance(3) {
        text.insert(0, '\u{feff}');
    }
    if seeded.chance(5) {
        text.truncate(text.trim_end().len());
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::robots::access::suspect_body;

    #[test]
    fn varied_shared_and_readable() {
        let bodies: Vec<Bytes> = (0..4000)
            .map(|index| {
                let mut seeded = Seeded::new(7, index);
                let sort = seeded.pick(Sort::WEIGHTED);
                robots_txt(&mut seeded, sort, &format!("site{index}.test"))
            })
            .collect();
        let distinct: HashSet<&Bytes> = bodies.iter().collect();
        assert!((1500..3500).contains(&distinct.len()), "{} distinct", distinct.len());
        assert!(bodies.iter().all(|body| suspect_body(body).is_none() && (20..25_000).contains(&body.len())));
        assert!(bodies.iter().any(|body| body.len() > 12_000));
        for needle in [
            "__usage_ai-training",
            "GPTBot",
            "Crawl-delay",
            "Sitemap:",
            "\r\n",
            "*",
            "Content-Signal",
            "License:",
            "BEGIN",
        ] {
            let with = bodies.iter().filter(|body| memchr::memmem::find(body, needle.as_bytes()).is_some()).count();
            assert!(with > 20, "{needle}: {with}");
        }
    }
}
