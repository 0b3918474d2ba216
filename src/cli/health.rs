//! Failures that are probably our own, and not the origins': said while there is still something to be done about it.

use std::collections::VecDeque;

use crate::robots::access::FetchClass;
use crate::source::http::OwnFailures;

/// Rows that are looked at together.
const WINDOW: usize = 1_000;
/// Of these, rows without a connection that make one suspicious: ordinary lists have far fewer.
const SUSPICIOUS: usize = WINDOW / 2;

/// Looks at what happens to origins, and says each complaint once.
#[derive(Debug)]
pub(super) struct Health {
    says: bool,
    window: VecDeque<bool>,
    unreached: usize,
    has_suspected: bool,
    said: OwnFailures,
}

impl Health {
    /// Says nothing where nobody wants to hear it.
    pub(super) fn new(says: bool) -> Self {
        Self {
            says,
            window: VecDeque::with_capacity(WINDOW),
            unreached: 0,
            has_suspected: false,
            said: OwnFailures::default(),
        }
    }

    /// Counts a row.
    pub(super) fn count(&mut self, class: FetchClass) -> Option<String> {
        use FetchClass as C;
        let is_unreached = matches!(class, C::DnsFailure | C::ConnectFailed | C::ConnectTimeout | C::Timeout);
        if self.window.len() == WINDOW {
            self.unreached -= usize::from(self.window.pop_front() == Some(true));
        }
        self.window.push_back(is_unreached);
        self.unreached += usize::from(is_unreached);
        if !self.says || self.has_suspected || self.unreached <= SUSPICIOUS {
            return None;
        }
        self.has_suspected = true;
        Some(format!(
            "{} of the last {} origins could not be reached: the trouble may be this machine's network, bandwidth or \
             resolver; fewer at a time (--concurrency), longer limits or another --dns may help",
            self.unreached,
            self.window.len()
        ))
    }

    /// Looks at what this machine was short of.
    pub(super) fn look_at(&mut self, own: &OwnFailures) -> Option<String> {
        let said = std::mem::replace(&mut self.said, *own);
        let complaints = [
            (said.descriptors, own.descriptors, "descriptors: raise the limit of open files, or lower --concurrency"),
            (said.ports, own.ports, "local ports or buffers: lower --concurrency"),
            (
                said.resolver,
                own.resolver,
                "a resolver that can be asked: look at the system's name servers, or give --dns",
            ),
        ];
        let new: Vec<_> =
            complaints.iter().filter(|(said, own, _)| *said == 0 && *own > 0).map(|(.., what)| *what).collect();
        (self.says && !new.is_empty()).then(|| format!("this machine is short of {}", new.join("; and of ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_complaint_is_said_once() {
        let mut health = Health::new(true);
        let rows = |health: &mut Health, class, count| (0..count).filter_map(|_| health.count(class)).count();
        assert_eq!(rows(&mut health, FetchClass::Ok, WINDOW), 0);
        assert_eq!(rows(&mut health, FetchClass::Timeout, SUSPICIOUS), 0);
        assert_eq!(rows(&mut health, FetchClass::DnsFailure, WINDOW), 1);
        assert_eq!(rows(&mut health, FetchClass::DnsFailure, WINDOW), 0);
        let own = OwnFailures { ports: 1, ..OwnFailures::default() };
        assert!(health.look_at(&own).is_some_and(|said| said.contains("local ports")));
        assert_eq!(health.look_at(&OwnFailures { ports: 9, ..own }), None);
        assert!(Health::new(false).look_at(&own).is_none());
    }
}
