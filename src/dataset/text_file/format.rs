//! What a text file is: how its rows are written is told by its name, how it is packed by its first octets.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::dataset::DatasetError;
use crate::source::packing::{PACKING_OCTETS, Packing, beginning};
use crate::tables::column::hex;

/// Octets read or gathered at once.
const BUFFER_OCTETS: usize = 256 << 10;

/// zstd level of outputs: that of the tool, where nothing is said.
const ZSTD_LEVEL: i32 = 3;

/// The byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// An object a line.
    Ndjson,
    /// Fields with a comma between them, or what the header has instead.
    Csv,
    /// Fields with a tab between them.
    Tsv,
}

/// A text file with rows.
#[derive(Debug, Clone)]
pub(in crate::dataset) struct TextInput {
    path: PathBuf,
    pub(super) syntax: Syntax,
    packing: Packing,
}

/// Octets, unpacked.
pub(super) type Stream = Box<dyn BufRead + Send>;

impl Syntax {
    /// What a name promises.
    fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "ndjson" | "jsonl" | "json" => Some(Self::Ndjson),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            _ => None,
        }
    }
}

impl TextInput {
    /// The file, where its name is that of a text file with rows and its octets are not those of Parquet.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub(in crate::dataset) fn recognize(path: &Path) -> Result<Option<Self>, DatasetError> {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let Some(syntax) = Syntax::of_name(&name) else { return Ok(None) };
        let magic = File::open(path).and_then(|mut file| beginning(&mut file, PACKING_OCTETS));
        let magic = magic.map_err(|source| DatasetError::Open { path: path.to_owned(), source })?;
        if magic == b"PAR1" {
            return Ok(None);
        }
        let packing = Packing::of(&magic);
        Ok(Some(Self { path: path.to_owned(), syntax, packing }))
    }

    /// Its text, and the byte order mark that stood in front of it.
    pub(super) fn open(&self) -> Result<(Stream, &'static [u8]), DatasetError> {
        let open_error = |source| DatasetError::Open { path: self.path.clone(), source };
        let file = BufReader::with_capacity(BUFFER_OCTETS, File::open(&self.path).map_err(open_error)?);
        let mut octets = self.packing.unpack(file).map_err(open_error)?;
        let mut head = beginning(&mut octets, BYTE_ORDER_MARK.len()).map_err(open_error)?;
        if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
            return Err(DatasetError::Text { fault: "is UTF-16 text; UTF-8 is read only" });
        }
        let mark = if head == BYTE_ORDER_MARK { BYTE_ORDER_MARK } else { &[] };
        head.drain(..mark.len());
        let text = Cursor::new(head).chain(octets);
        Ok((Box::new(BufReader::with_capacity(BUFFER_OCTETS, text)), mark))
    }

    /// A digest of its octets as they are packed.
    pub(in crate::dataset) fn digest(&self) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        let mut digest = Sha256::new();
        let mut part = vec![0; BUFFER_OCTETS];
        loop {
            let read = file.read(&mut part)?;
            if read == 0 {
                return Ok(hex(&digest.finalize()));
            }
            digest.update(&part[..read]);
        }
    }

    /// Packs an output as this input is packed.
    pub(super) fn pack(&self, file: File) -> io::Result<Packer> {
        let file = BufWriter::with_capacity(BUFFER_OCTETS, file);
        Ok(match self.packing {
            Packing::Plain => Packer::Plain(file),
            Packing::Gzip => Packer::Gzip(GzEncoder::new(file, Compression::default())),
            Packing::Zstd => {
                let mut encoder = zstd::Encoder::new(file, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Packer::Zstd(encoder)
            }
        })
    }
}

/// Octets on their way into a file.
pub(super) enum Packer {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl Packer {
    /// Adds octets.
    pub(super) fn add(&mut self, octets: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(writer) => writer.write_all(octets),
            Self::Gzip(writer) => writer.write_all(octets),
            Self::Zstd(writer) => writer.write_all(octets),
        }
    }

    /// Ends the packing; the file.
    pub(super) fn finish(self) -> io::Result<File> {
        let writer = match self {
            Self::Plain(writer) => writer,
            Self::Gzip(writer) => writer.finish()?,
            Self::Zstd(writer) => writer.finish()?,
        };
        writer.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::packing::packed_in_every_way;

    #[test]
    fn packings_are_told_by_content() {
        let text = b"\xEF\xBB\xBFurl\nhttps://a.test/\n";
        let folder = tempfile::tempdir().unwrap();
        for (name, octets) in packed_in_every_way(text) {
            let path = folder.path().join("x.csv");
            std::fs::write(&path, octets).unwrap();
            let (mut stream, mark) = TextInput::recognize(&path).unwrap().unwrap().open().unwrap();
            let mut read = mark.to_vec();
            stream.read_to_end(&mut read).unwrap();
            assert_eq!((mark, &*read), (BYTE_ORDER_MARK, &text[..]), "{name}");
        }
    }
}
