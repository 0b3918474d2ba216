//! `--fail-on`: what a job takes for failed though every origin got its row.

use std::str::FromStr;

use crate::audit::totals::Classes;
use crate::robots::access::FetchClass;

/// A class, and how many origins of it are borne.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FailOn {
    class: FetchClass,
    borne: Borne,
}

/// How many rows of a class are borne.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Borne {
    Rows(u64),
    /// Of all rows, in per cent.
    Share(f64),
}

impl FailOn {
    /// What to say where more rows have the class than are borne.
    pub(super) fn complaint(&self, classes: &Classes) -> Option<String> {
        let (rows, all) = (classes.of(self.class), classes.total());
        #[expect(clippy::cast_precision_loss, reason = "a share to two digits")]
        let share = 100.0 * rows as f64 / all.max(1) as f64;
        let (is_beyond, borne) = match self.borne {
            Borne::Rows(borne) => (rows > borne, borne.to_string()),
            Borne::Share(borne) => (share > borne, format!("{borne}%")),
        };
        let class = self.class;
        is_beyond.then(|| format!("{rows} of {all} origins ({share:.2}%) are {class}, more than {borne}"))
    }
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (class, borne) = text.split_once(':').unwrap_or((text, "0"));
        let known = || FetchClass::ALL.iter().map(|class| class.as_str()).collect::<Vec<_>>().join(", ");
        let class =
            FetchClass::from_name(class).ok_or_else(|| format!("there is no such class; there are {}", known()))?;
        let borne = match borne.strip_suffix('%') {
            Some(share) => share.parse().ok().filter(|share| (0.0..=100.0).contains(share)).map(Borne::Share),
            None => borne.parse().ok().map(Borne::Rows),
        };
        let borne =
            borne.ok_or_else(|| "behind the colon stands a number of origins, or a share such as 5%".to_owned())?;
        Ok(Self { class, borne })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_share_is_borne() {
        let mut classes = Classes::default();
        (0..3).for_each(|_| classes.count(FetchClass::Ok));
        classes.count(FetchClass::Timeout);
        let complains = |text: &str| text.parse::<FailOn>().expect(text).complaint(&classes).is_some();
        assert!(complains("timeout") && complains("timeout:0") && complains("timeout:24.9%") && complains("ok:2"));
        assert!(!complains("internal") && !complains("timeout:1") && !complains("timeout:25%"));
        for text in ["", "nothing", "ok:", "ok:x", "ok:101%", "ok:-1%", "ok:-1", "ok:NaN%"] {
            assert!(text.parse::<FailOn>().is_err(), "{text}");
        }
    }
}
