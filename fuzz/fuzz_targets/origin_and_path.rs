//! One line of a list or one URL through the normal form of origins and paths.
#![no_main]

use libfuzzer_sys::fuzz_target;
use robots_audit::origin::{Origin, Scheme, Target, URL_OCTETS, normal_form};
use robots_audit::robots::path::RawPath;
use robots_audit::robots::token::Matching;

mod twin_path;

fuzz_target!(|input: &[u8]| {
    if let Ok(target) = Target::parse(input) {
        check_origin(&target.origin);
    }
    check_ways_agree(input);
    check_path(input);
});

/// Its normal form is read as itself, and its parts make it up.
fn check_origin(origin: &Origin) {
    let text = origin.as_str();
    assert!(text.is_ascii() && text.len() <= URL_OCTETS, "{text}");
    assert_eq!(Origin::of_url(text.as_bytes()).as_ref(), Ok(origin));
    assert_eq!(normal_form(text.as_bytes()).as_deref(), Ok(text));
    assert_eq!(
        Target::parse(text.as_bytes()).map(|target| (target.origin, target.is_bare)),
        Ok((origin.clone(), false))
    );
    assert_eq!(Origin::of_url(origin.robots_url().as_bytes()).as_ref(), Ok(origin));
    let port = format!(":{}", origin.port());
    let rest = if origin.port() == origin.scheme().default_port() { "" } else { &port[..] };
    assert_eq!(text, format!("{}://{}{rest}", origin.scheme().as_str(), origin.host()));
    assert!(origin.registered_domain().is_none_or(|domain| origin.host().contains(domain)));
    for scheme in [Scheme::Http, Scheme::Https] {
        let other = origin.with_scheme(scheme);
        assert_eq!((other.scheme(), other.host()), (scheme, origin.host()));
        assert_eq!(Origin::of_url(other.as_str().as_bytes()), Ok(other));
    }
}

/// The short way for plain names and the long one: a scheme in upper case is always sent the long way.
fn check_ways_agree(input: &[u8]) {
    for (lower, upper) in [("https://", "HTTPS://"), ("http://", "HTTP://")] {
        let rest = input.strip_prefix(lower.as_bytes()).unwrap_or(input);
        let short = [lower.as_bytes(), rest].concat();
        let long = [upper.as_bytes(), rest].concat();
        assert_eq!(normal_form(&short), normal_form(&long), "{}", String::from_utf8_lossy(&short));
    }
}

/// Its normal form is ASCII without wildcards, agrees with the twin's, and does not depend on what stands before it.
fn check_path(url: &[u8]) {
    let path = RawPath::of_url(url).normalised();
    assert_eq!(path.first(), Some(&b'/'));
    assert!(path.iter().all(|octet| octet.is_ascii() && !b"*$#".contains(octet)));
    assert_eq!(path, twin_path::path_of(url));
    assert_eq!(RawPath::read(url, Matching::Google).normalised(), twin_path::google_path_of(url));
    if url.first() == Some(&b'/') && url.get(1) != Some(&b'/') {
        assert_eq!(RawPath::of_url(&[b"https://a.test", url].concat()).normalised(), path);
    }
    let mut buffer = b"left over".to_vec();
    assert_eq!(RawPath::of_url(url).prepare(&mut buffer).octets(), path);
}
