//! Lines of a stream, bounded: of a line that is too long the beginning is kept and the rest passed over.

use std::io::{self, BufRead};

/// A stream of octets whose compression, if any, is undone.
pub(super) type Stream = Box<dyn BufRead + Send>;

/// How reading one line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// The whole line was kept.
    Whole,
    /// The line is longer than the limit.
    Cut,
    /// There was no line.
    Nothing,
}

/// Appends the next line to `out`, at most `limit` octets of it, without its LF or CR LF.
pub(super) fn append_line(stream: &mut Stream, limit: usize, out: &mut Vec<u8>) -> io::Result<LineEnd> {
    let start = out.len();
    let mut is_cut = false;
    let mut is_begun = false;
    loop {
        let buffer = fill(stream)?;
        if buffer.is_empty() {
            if !is_begun {
                return Ok(LineEnd::Nothing);
            }
            break;
        }
        is_begun = true;
        let end = memchr::memchr(b'\n', buffer);
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        // One octet more than the limit may be a CR that the line does not count.
        let room = limit + 1 - (out.len() - start);
        out.extend_from_slice(&piece[..piece.len().min(room)]);
        is_cut |= piece.len() > room;
        let used = piece.len() + usize::from(end.is_some());
        stream.consume(used);
        if end.is_some() {
            break;
        }
    }
    if !is_cut && out[start..].ends_with(b"\r") {
        out.pop();
    }
    is_cut |= out.len() - start > limit;
    out.truncate(start + limit.min(out.len() - start));
    Ok(if is_cut { LineEnd::Cut } else { LineEnd::Whole })
}

/// The octets at hand, at least one unless the stream has ended.
pub(super) fn fill(stream: &mut Stream) -> io::Result<&[u8]> {
    loop {
        match stream.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // Asked a second time because the borrow of the first answer would outlive the loop.
    stream.fill_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static [u8], limit: usize, buffer: usize) -> Vec<(String, LineEnd)> {
        let mut stream: Stream = Box::new(io::BufReader::with_capacity(buffer, text));
        let mut lines = Vec::new();
        loop {
            let mut line = b"-".to_vec();
            match append_line(&mut stream, limit, &mut line).expect("memory can be read") {
                LineEnd::Nothing => return lines,
                end => lines.push((String::from_utf8_lossy(&line[1..]).into_owned(), end)),
            }
        }
    }

    #[test]
    fn lines_end_in_lf_cr_lf_or_the_end() {
        use LineEnd::{Cut, Whole};
        for buffer in [1, 2, 3, 64] {
            let expected = [("a", Whole), ("", Whole), ("bc", Whole), ("\rd", Whole), ("abcd", Cut), ("abcd", Whole)];
            let expected: Vec<_> = expected.map(|(text, end)| (text.to_owned(), end)).into();
            assert_eq!(lines(b"a\n\nbc\r\n\rd\nabcde\nabcd\r\n", 4, buffer), expected);
            assert_eq!(lines(b"abcd\r", 4, buffer), [("abcd".to_owned(), Whole)]);
            assert_eq!(lines(b"abcd\r\r\n", 4, buffer), [("abcd".to_owned(), Cut)]);
            assert_eq!(lines(b"", 4, buffer), []);
        }
    }
}
