//! What stands in a body beside its text: marks, carriage returns, NUL octets; and what lies beyond the size limit.

use memchr::{memchr_iter, memmem};

use super::{File, Note, Notes};
use crate::robots::finding::Code;
use crate::robots::lex::{BYTE_ORDER_MARK, Content, Line, Lines, content};

pub(super) fn check<'a>(file: &File<'a>, notes: &mut Notes<'a>) {
    marks(file, notes);
    once(file, notes, Code::LoneCarriageReturn, lone_carriage_returns(file));
    once(file, notes, Code::NulOctet, memchr_iter(0, file.octets));
}

/// Marks where the parser told of none, the first of each line.
fn marks<'a>(file: &File<'a>, notes: &mut Notes<'a>) {
    let told = file.robots.findings.iter().filter(|finding| finding.code == Code::MarkInside);
    let mut before = None;
    let told: Vec<Line> = told.map(|finding| finding.line).collect();
    for place in memmem::find_iter(file.octets, BYTE_ORDER_MARK) {
        let line = line_of(file, place);
        if told.binary_search(&line).is_err() && before != Some(line) {
            notes.add(Note::new(line, Code::MarkInside, &file.octets[place..place + BYTE_ORDER_MARK.len()]));
        }
        before = Some(line);
    }
}

/// A line feed behind the size limit counts: the file has it.
fn lone_carriage_returns<'a>(file: &File<'a>) -> impl Iterator<Item = usize> + use<'a> {
    let skipped = super::offset_in(file.body, file.octets).unwrap_or_default();
    let following = &file.body[skipped..];
    memchr_iter(b'\r', file.octets).filter(move |place| following.get(place + 1) != Some(&b'\n'))
}

/// One finding at the first place, with how many there are.
fn once<'a>(file: &File<'a>, notes: &mut Notes<'a>, code: Code, mut places: impl Iterator<Item = usize>) {
    let Some(first) = places.next() else { return };
    let note = Note::new(line_of(file, first), code, &file.octets[first..=first]);
    let others = places.count();
    notes.add(if others > 0 { note.detail(format!("{} of them", others + 1)) } else { note });
}

/// The line of a place in the octets that are read.
fn line_of(file: &File<'_>, place: usize) -> Line {
    let skipped = super::offset_in(file.body, file.octets).unwrap_or_default();
    let before = file.starts.partition_point(|(start, _)| *start <= place + skipped);
    before.checked_sub(1).map_or(Line::FIRST, |last| file.starts[last].1)
}

/// Octets that tell whether a body without groups is text.
const HEAD_OCTETS: usize = 4_096;

/// Whether a body without groups is compressed, an image or the like: one octet in fifty is a control octet.
pub(super) fn is_binary(file: &File<'_>) -> bool {
    let head = &file.octets[..file.octets.len().min(HEAD_OCTETS)];
    let is_control = |octet: &&u8| octet.is_ascii_control() && !octet.is_ascii_whitespace();
    file.robots.groups.is_empty() && head.iter().filter(is_control).count() * 50 > head.len()
}

/// Says with the finding about the size limit how many rules are lost by it.
pub(super) fn count_lost_rules(file: &File<'_>, notes: &mut [Note<'_>]) {
    let Some(note) = notes.iter_mut().find(|note| note.finding.code == Code::OverLimit) else { return };
    let read = super::offset_in(file.body, file.octets).unwrap_or_default() + file.octets.len();
    let is_rule = |(_, text): &(Line, &[u8])| match content(text) {
        Content::Record { key, value } => {
            !value.is_empty() && (key.eq_ignore_ascii_case(b"disallow") || key.eq_ignore_ascii_case(b"allow"))
        }
        Content::Blank | Content::Other(_) => false,
    };
    let lost = Lines::of(&file.body[read..]).filter(is_rule).count();
    let rules = if lost == 1 { "1 rule".to_owned() } else { format!("{lost} rules") };
    note.detail = Some(format!("{rules} in {} octets lost", file.body.len() - read));
}
