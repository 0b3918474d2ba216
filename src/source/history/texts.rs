//! The texts of one row in one piece of memory: they are many, and mostly short or absent.

/// Which text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    FinalUrl,
    RemoteIp,
    ContentType,
    ContentEncoding,
    Etag,
    LastModified,
    CacheControl,
    Server,
}

impl Text {
    pub(super) const ALL: [Self; 8] = [
        Self::FinalUrl,
        Self::RemoteIp,
        Self::ContentType,
        Self::ContentEncoding,
        Self::Etag,
        Self::LastModified,
        Self::CacheControl,
        Self::Server,
    ];
}

/// The length that stands for an absent text.
const ABSENT: u16 = u16::MAX;

/// The texts, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Texts {
    octets: Box<str>,
    lengths: [u16; Text::ALL.len()],
}

impl Texts {
    /// Packs texts; one of 64 KiB or more, which this program never writes, counts as absent.
    pub(super) fn pack<'a>(of: impl Fn(Text) -> Option<&'a str>) -> Self {
        let mut octets = String::new();
        let lengths = Text::ALL.map(|which| {
            let text = of(which)?;
            let length = u16::try_from(text.len()).ok().filter(|length| *length != ABSENT)?;
            octets.push_str(text);
            Some(length)
        });
        Self { octets: octets.into(), lengths: lengths.map(|length| length.unwrap_or(ABSENT)) }
    }

    pub(super) fn get(&self, which: Text) -> Option<&str> {
        let place = which as usize;
        let length = |place: usize| Some(self.lengths[place]).filter(|length| *length != ABSENT).map(usize::from);
        let start: usize = (0..place).filter_map(length).sum();
        length(place).map(|length| &self.octets[start..start + length])
    }

    pub(super) fn owned(&self, which: Text) -> Option<String> {
        self.get(which).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_absent_is_not_empty() {
        let long = "x".repeat(usize::from(u16::MAX));
        let texts = Texts::pack(|which| match which {
            Text::FinalUrl => Some("http://a.test/r"),
            Text::ContentType => Some(""),
            Text::Etag => Some("\"é\""),
            Text::CacheControl => Some(&long),
            Text::Server => Some("s"),
            _ => None,
        });
        let found = Text::ALL.map(|which| texts.get(which));
        let expected = [Some("http://a.test/r"), None, Some(""), None, Some("\"é\""), None, None, Some("s")];
        assert_eq!(found, expected);
    }
}
