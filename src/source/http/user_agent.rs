//! How the program names itself to servers (§2.2.1): a product token, a version, and whom to write to.

use super::HttpError;

/// Octets of a product token or a contact that is still one.
const NAME_OCTETS: usize = 256;

/// The User-Agent value `<product>/<version> (+<contact>)`.
///
/// The product token holds letters, `_` and `-` only (§2.2.1); the contact is an http(s) URL or an e-mail address.
///
/// # Errors
/// The product token or the contact is not of that form.
pub fn user_agent(product_token: &str, contact: &str) -> Result<String, HttpError> {
    if !is_product_token(product_token) {
        return Err(HttpError::ProductToken { token: product_token.to_owned() });
    }
    if !is_contact(contact) {
        return Err(HttpError::Contact { contact: contact.to_owned() });
    }
    Ok(format!("{product_token}/{} (+{contact})", env!("CARGO_PKG_VERSION")))
}

fn is_product_token(text: &str) -> bool {
    (1..=NAME_OCTETS).contains(&text.len())
        && text.bytes().all(|octet| octet.is_ascii_alphabetic() || matches!(octet, b'_' | b'-'))
}

fn is_contact(text: &str) -> bool {
    // A parenthesis would end the comment (RFC 9110 §5.6.5), a backslash would quote what follows.
    text.len() <= NAME_OCTETS
        && text.bytes().all(|octet| octet.is_ascii_graphic() && !matches!(octet, b'(' | b')' | b'\\'))
        && (is_web_url(text) || is_email(text))
}

fn is_web_url(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
    }) && text.contains("://")
}

fn is_email(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(local, domain)| {
        !local.is_empty()
            && !local.contains([':', '/', '@'])
            && domain.contains('.')
            && domain.split('.').all(|label| !label.is_empty())
            && domain.bytes().all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_product_version_and_contact() {
        let value = user_agent("robots-audit", "https://a.test/about").expect("valid");
        assert_eq!(value, format!("robots-audit/{} (+https://a.test/about)", env!("CARGO_PKG_VERSION")));
        assert!(user_agent("Audit_Probe", "who@a.test").expect("valid").ends_with(" (+who@a.test)"));
    }

    #[test]
    fn refuses_what_is_no_product_token() {
        for token in ["", "a b", "a/1", "a1", "*", "b\u{fc}cher", "a\r\nX: y", &"a".repeat(NAME_OCTETS + 1)] {
            assert!(matches!(user_agent(token, "who@a.test"), Err(HttpError::ProductToken { .. })), "{token:?}");
        }
    }

    #[test]
    fn refuses_what_is_no_contact() {
        for contact in [
            "",
            "somebody",
            "ftp://a.test/",
            "https:/a.test",
            "https://",
            "https://user:secret@a.test/",
            "https://a.test/(x)",
            "https://a.test/\r\nX: y",
            "who@a.test)",
            "who@localhost",
            "@a.test",
            "who@a..test",
            "who w@a.test",
            "mailto:who@a.test",
        ] {
            assert!(matches!(user_agent("probe", contact), Err(HttpError::Contact { .. })), "{contact:?}");
        }
    }
}
