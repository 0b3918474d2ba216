//! Lists that can be read only once, copied so that they can be read again.

use std::fs::File;
use std::path::Path;
use std::{fs, io};

use super::InputError;
use super::open::{STDIN, can_be_read_again, place};
use crate::tables::sink::Place;

/// Lists that can be read twice. Copies go away with it.
#[derive(Debug, Default)]
pub struct Spooled {
    paths: Vec<String>,
    /// They are locked, and go away with their locks.
    copies: Vec<Place>,
}

impl Spooled {
    /// Copies every list that can be read only once (standard input, pipes) to a file in `folder`, made where it does not exist; `kind` tells the
    /// copies of different lists apart. What is no file stays as it is.
    ///
    /// # Errors
    /// A list cannot be opened or copied.
    pub fn of(lists: &[String], folder: &Path, kind: &str) -> Result<Self, InputError> {
        let mut spooled = Self::default();
        for (index, list) in lists.iter().enumerate() {
            let failed = |source| InputError::Open { place: place(list).to_owned(), source };
            let is_special = Path::new(list).exists() && !Path::new(list).is_dir() && !can_be_read_again(list);
            if list != STDIN && !is_special {
                spooled.paths.push(list.clone());
                continue;
            }
            fs::create_dir_all(folder).map_err(failed)?;
            let mut copy = Place::of(folder, &format!("{kind}-{index}"));
            let mut file = copy.create()?;
            let copied = if list == STDIN {
                io::copy(&mut io::stdin().lock(), &mut file)
            } else {
                File::open(list).and_then(|mut pipe| io::copy(&mut pipe, &mut file))
            };
            copied.map_err(failed)?;
            spooled.paths.push(copy.temporary().to_string_lossy().into_owned());
            spooled.copies.push(copy);
        }
        Ok(spooled)
    }

    /// The lists to read instead, in the same order.
    #[must_use]
    pub fn paths(&self) -> &[String] {
        &self.paths
    }
}
