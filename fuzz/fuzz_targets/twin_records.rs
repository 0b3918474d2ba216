//! A second reading of delimited text (RFC 4180) and of lines: the whole text at once, and no state.

use std::borrow::Cow;

/// A record as it is written.
#[derive(Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// All of it.
    pub raw: &'a [u8],
    /// Its fields, quotes included; of a line, one.
    pub fields: Vec<&'a [u8]>,
    /// CR LF, LF, or what stands for it at the end of a file.
    pub end: &'a [u8],
}

/// The lines of a text.
pub fn lines(text: &[u8]) -> Vec<Record<'_>> {
    let record = |raw| {
        let (line, end) = without_end(raw);
        Record { raw, fields: vec![line], end }
    };
    text.split_inclusive(|octet| *octet == b'\n').map(record).collect()
}

/// The records of a delimited text; `None` where a quote is not closed.
pub fn records(text: &[u8], delimiter: u8) -> Option<Vec<Record<'_>>> {
    let (mut records, mut begin, mut at) = (Vec::new(), 0, 0);
    let mut fields = Vec::new();
    while begin < text.len() {
        let field = at;
        if text.get(at) == Some(&b'"') {
            at = behind_quotes(text, at + 1)?;
        }
        let stops = |octet: &u8| *octet == delimiter || *octet == b'\n';
        at = (at..text.len()).find(|place| stops(&text[*place])).unwrap_or(text.len());
        if text.get(at) == Some(&delimiter) {
            fields.push(&text[field..at]);
            at += 1;
            continue;
        }
        let behind = (at + 1).min(text.len());
        let (last, end) = without_end(&text[field..behind]);
        fields.push(last);
        records.push(Record { raw: &text[begin..behind], fields: std::mem::take(&mut fields), end });
        (begin, at) = (behind, behind);
    }
    Some(records)
}

fn behind_quotes(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += text[at..].iter().position(|octet| *octet == b'"')? + 1;
        if text.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

fn without_end(raw: &[u8]) -> (&[u8], &[u8]) {
    let line = raw.strip_suffix(b"\n").unwrap_or(raw);
    raw.split_at(line.strip_suffix(b"\r").unwrap_or(line).len())
}

/// What a field says.
pub fn unquoted(field: &[u8]) -> Cow<'_, [u8]> {
    if !field.starts_with(b"\"") {
        return Cow::Borrowed(field);
    }
    let end = behind_quotes(field, 1).expect("a field is whole");
    let quoted = field[1..end - 1].split(|octet| *octet == b'"').collect::<Vec<_>>();
    let pairs: Vec<&[u8]> = quoted.into_iter().step_by(2).collect();
    Cow::Owned([&pairs.join(&b"\""[..]), &field[end..]].concat())
}
