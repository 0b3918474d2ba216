use super::*;

fn found(body: &[u8]) -> Vec<(u32, u32, &'static str)> {
    let linter = Linter::new(Registry::embedded());
    let found = linter.findings(body);
    found.iter().map(|one| (u32::from(one.line), one.column, one.code.as_str())).collect()
}

fn messages(body: &str) -> Vec<String> {
    let linter = Linter::new(Registry::embedded());
    linter.findings(body.as_bytes()).iter().map(|one| format!("{}; {}", one.message(), one.hint())).collect()
}

#[test]
fn a_column_is_that_of_the_text() {
    for (body, expected) in [
        ("User-agent: *\n  Disalow: /\nAllow: /\n", &[(2, 3, "misspelt_field")][..]),
        ("User-agent: *\r\nDisallow:\tx\r\n", &[(2, 11, "rule_never_matches")]),
        ("\u{feff}User-agent: a b\nAllow: /\n", &[(1, 13, "agent_with_blank")]),
        ("User-agent: *\nDisallow: /caf\u{e9}\n", &[(2, 15, "raw_non_ascii")]),
        ("User-agent: *\nDisallow: /\u{e9}%7e\n", &[(2, 12, "raw_non_ascii"), (2, 14, "needless_escape")]),
        ("User-agent: *\nAllow: /\n\n User-agent: b\n", &[(4, 2, "group_without_rules")]),
        ("", &[]),
    ] {
        assert_eq!(found(body.as_bytes()), expected, "{body:?}");
    }
    let linter = Linter::new(Registry::embedded());
    let escape = linter.findings("User-agent: *\nDisallow: /\u{e9}%7e\n".as_bytes()).pop().expect("two findings");
    assert_eq!((escape.column, escape.character), (14, 13));
}

#[test]
fn a_rule_is_shadowed_only_where_another_matches_all_that_it_does() {
    for (rules, expected) in [
        ("Disallow: /\nAllow: /\n", Some("shadowed_rule")),
        ("Disallow: /hotels/\nAllow: /hotels/*\n", Some("shadowed_rule")),
        ("Disallow: /a/b\nAllow: /a*b*****\n", Some("shadowed_rule")),
        ("Disallow: /x.php$\nAllow: /**.php$\n", Some("shadowed_rule")),
        ("Disallow: /x.php\nAllow: /**.php$\n", None),
        ("Disallow: /a\nAllow: /a/*\n", None),
        ("Disallow: /a$\nAllow: /a\n", None),
        ("Disallow: /%2A\nAllow: /*****\n", Some("shadowed_rule")),
        ("Disallow: /*****\nAllow: /%2A\n", Some("shadowed_rule")),
        ("Disallow: /*\nDisallow: /a\n", None),
        ("Disallow: /a\nDisallow: /a\n", Some("duplicate_rule")),
        ("Disallow: /%C3%A9\nDisallow: /%c3%a9\n", None),
    ] {
        let found = found(format!("User-agent: *\n{rules}").as_bytes());
        assert_eq!(found.first().map(|(.., code)| *code), expected, "{rules:?}");
    }
}

#[test]
fn a_rule_that_decides_for_somebody_is_not_shadowed() {
    let body = "User-agent: a\nUser-agent: b\nDisallow: /\n\nUser-agent: b\nAllow: /\n";
    assert_eq!(found(body.as_bytes()), [(5, 13, "duplicate_group")]);
}

#[test]
fn the_trap_is_told_where_it_opens_something() {
    const STAR: &str = "User-agent: *\nDisallow: /private/\nDisallow: /*?sort=\n\n";
    for (group, expected) in [
        ("User-agent: a\nDisallow: /x\n", Some("star_rules_left_behind")),
        ("User-agent: a\nDisallow: /x\nAllow: /\n", Some("star_rules_left_behind")),
        ("User-agent: a\nDisallow: /private\n", Some("star_rules_left_behind")),
        ("User-agent: a\nDisallow: /private\nDisallow: /*sort\n", None),
        ("User-agent: a\nDisallow: /private\nAllow: /*?sort=\n", None),
        ("User-agent: a\nDisallow: /\n", None),
        ("User-agent: a\nDisallow:\n", Some("star_rules_lifted")),
        ("User-agent: a\nAllow: /\n", Some("star_rules_lifted")),
        ("User-agent: AdsBot-Google\nDisallow: /x\n", None),
        ("User-agent: __usage_ai-training\nDisallow: /x\n", None),
    ] {
        let found = found(format!("{STAR}{group}").as_bytes());
        assert_eq!(found.first().map(|(.., code)| *code), expected, "{group:?}");
    }
    let shut = "User-agent: *\nDisallow: /\nDisallow: /x\n\nUser-agent: a\nDisallow: /y\n";
    assert_eq!(found(shut.as_bytes()), []);
    assert_eq!(
        messages(&format!("{STAR}User-agent: Aa\nDisallow: /x\n")),
        [
            "a crawler with its own group obeys none of the rules of *: `Disallow: /private/` (line 2) and 1 more rule of * do \
          not bind Aa; repeat the rules of * in this group"
        ]
    );
}

#[test]
fn names_that_are_almost_known() {
    let meant = |name: &str| {
        let messages = messages(&format!("User-agent: {name}\nDisallow: /\n"));
        messages.into_iter().find_map(|message| Some(message.split_once("write `")?.1.trim_end_matches('`').to_owned()))
    };
    for (name, expected) in [
        ("Googlebto", Some("Googlebot")),
        ("Google-Bot", Some("Googlebot")),
        ("GPT-Bot", Some("GPTBot")),
        ("Google", Some("Googlebot")),
        ("GPTBit", None),
        ("Pinterest", None),
        ("googlebot", None),
        ("SomethingElse", None),
        ("__usage_ai-trainning", Some("__usage_ai-training")),
    ] {
        assert_eq!(meant(name).as_deref(), expected, "{name}");
    }
    assert_eq!(found(b"User-agent: Sogou web spider\nDisallow: /\n"), []);
}

#[test]
fn a_retired_name_is_followed_by_another() {
    let messages = messages("User-agent: anthropic-ai\nUser-agent: Teoma\nDisallow: /\n");
    assert!(messages[0].ends_with("name `ClaudeBot` if that is whom you mean"), "{}", messages[0]);
    assert!(messages[1].ends_with("remove the line"), "{}", messages[1]);
}

#[test]
fn whoever_stands_there_twice_is_not_bridged() {
    assert_eq!(found(b"User-agent: a\nCrawl-delay: 1\nUser-agent: A\nDisallow: /\n"), []);
    assert_eq!(found(b"User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /\n"), [(3, 13, "bridged_agents")]);
}

#[test]
fn the_rules_beyond_the_limit_are_counted() {
    let mut body = "User-agent: *\nDisallow: /a\n#".to_owned();
    body += &"x".repeat(PARSE_OCTETS - body.len() - 1);
    body += "\nDisallow: /b\nAllow: /c\nDisallow:\n";
    let messages = messages(&body);
    assert!(messages[0].contains("2 rules in 33 octets lost"), "{}", messages[0]);
}

#[test]
fn the_limit_between_carriage_return_and_line_feed_makes_none_lone() {
    let mut body = "User-agent: *\r\nDisallow: /a\r\n#".to_owned();
    body += &"x".repeat(PARSE_OCTETS - body.len() - 1);
    body += "\r\n";
    assert!(found(body.as_bytes()).iter().all(|(.., code)| *code != "lone_carriage_return"));
}

#[test]
fn something_else_is_one_finding() {
    for (body, code) in [
        (&b"<html>\nUser: x\n"[..], "html_body"),
        (b"{\"a\":\n1}", "json_body"),
        (b"\xFE\xFF\0U\0s", "utf16_body"),
        (b"\x1F\x8B\x08\0", "binary_body"),
        (b"\x01\x02 no signature\n", "binary_body"),
    ] {
        assert_eq!(found(body), [(1, 1, code)], "{body:?}");
    }
    let page_with_groups = b"<!-- a -->\nUser-agent: *\nDisallow: /\n";
    assert_eq!(found(page_with_groups), [(1, 1, "missing_colon"), (1, 1, "html_body")]);
}

#[test]
fn octets_are_counted_at_the_first() {
    assert_eq!(
        found(b"User-agent: *\rDisallow: /\0\rAllow: /b\n"),
        [(1, 14, "lone_carriage_return"), (2, 11, "rule_with_blank"), (2, 12, "nul_octet")]
    );
    assert_eq!(found("User-agent: *\nDisallow: /x\u{feff}y\u{feff}\n".as_bytes()), [(2, 13, "mark_inside")]);
}

#[test]
fn a_hostile_file_ends_soon() {
    let repeat = |lines: fn(u32) -> String| (0..5_000).map(lines).collect::<Vec<_>>().concat();
    let agents = repeat(|n| format!("User-agent: a{n}\n"));
    let rules = repeat(|n| format!("Disallow: /*{n}*x*\nAllow: /{n}\n"));
    let own = repeat(|n| format!("User-agent: a{n}\nAllow: /{n}\n"));
    let marks = "User-agent: x\n".to_owned() + &"\u{feff}\n".repeat(100_000);
    let twice = format!("{agents}{rules}{agents}Disallow: /x\nUser-agent: *\nDisallow: /y\n");
    let search = "User-agent: GPTBot\nUser-agent: CCBot\nUser-agent: ClaudeBot\nUser-agent: Googlebot\nDisallow: /\n";
    for body in [format!("User-agent: *\n{rules}{agents}{rules}{own}"), marks, twice, search.repeat(5_000)] {
        let found = found(body.as_bytes());
        assert!(found.len() <= 3 * (FINDINGS + 1), "{}", found.len());
    }
}

proptest::proptest! {
    /// Whatever the octets: no panic, and what a finding is about stands where it says, comments aside.
    #[test]
    fn any_octets_have_findings_in_their_places(pieces in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let body: Vec<u8> = pieces.iter().flat_map(|piece| PIECES[*piece]).copied().collect();
        let linter = Linter::new(Registry::embedded());
        let lines: Vec<&[u8]> = Lines::of(readable(&body, PARSE_OCTETS).octets).map(|(_, text)| text).collect();
        // Lines are without their comments here.
        for found in linter.findings(&body) {
            let start = found.column as usize - 1;
            let text = lines.get(u32::from(found.line) as usize - 1).copied().unwrap_or_default();
            let is_there = text.get(start..).is_some_and(|rest| rest.starts_with(found.raw));
            let is_elsewhere = matches!(
                found.code,
                Code::LoneCarriageReturn | Code::NulOctet | Code::SignalConflict | Code::TrainingTokenInComment | Code::MarkInside
            );
            proptest::prop_assert!(is_there || found.raw.is_empty() || is_elsewhere, "{:?} in {:?}", found, body);
            proptest::prop_assert!(found.character <= found.column);
        }
    }
}

const PIECES: [&[u8]; 24] = [
    b"User-agent: ",
    b"Disallow: ",
    b"Allow: /",
    b"Crawl-delay: 1",
    b"Sitemap: /x",
    b"Content-Signal: ai-train=no",
    b"\n",
    b"\n",
    b"\r",
    b"\r\n",
    b"*",
    b"$",
    b"/",
    b"a",
    b" ",
    b"#",
    b"\xEF\xBB\xBF",
    b"\xE9",
    b"\0",
    b"%7e",
    b"GPTBot, Googlebot",
    b"<",
    b"{",
    b"__usage_ai-training",
];
