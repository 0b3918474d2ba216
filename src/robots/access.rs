//! What came of asking one origin for `/robots.txt`, and what each policy makes of it (§2.3.1).
//!
//! Two facts are kept apart: the *observation* (class, reason, flags; the same under every policy) and the
//! *outcome* (what a policy makes of the class). A failure is never turned into "no rules found".
//! How an observation is made belongs to `source`; this module only names and judges it.

// A length of time: `core` has no clock.
use core::time::Duration;

/// A closed set of names: one spelling for tables, text and the command line.
macro_rules! names {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$vmeta:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name used in tables and text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The value with this name, if there is one.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use names;

names! {
    /// The class of one observation: every origin ends in exactly one.
    pub enum FetchClass {
        /// A 2xx answer with readable text, or an empty body.
        Ok => "ok",
        /// A 2xx answer whose body is probably no robots.txt.
        OkSuspect => "ok_suspect",
        /// 404 or 410.
        Missing => "missing",
        /// 401, 403, 407 or 451.
        AccessDenied => "access_denied",
        /// 429.
        RateLimited => "rate_limited",
        /// Any other 4xx.
        ClientError => "client_error",
        /// 5xx, and every status above 599 (RFC 9110 §15).
        ServerError => "server_error",
        /// Too many redirects, or a loop.
        RedirectLimit => "redirect_limit",
        /// A redirect that leads nowhere: no or an unusable `Location`.
        RedirectInvalid => "redirect_invalid",
        /// The address guard refused the first address or a hop.
        BlockedAddress => "blocked_address",
        /// The name, or an address of it, does not exist.
        DnsNxdomain => "dns_nxdomain",
        /// The name servers did not answer usefully.
        DnsFailure => "dns_failure",
        /// No connection: refused or unreachable.
        ConnectFailed => "connect_failed",
        /// No connection in time.
        ConnectTimeout => "connect_timeout",
        /// The TLS handshake failed.
        TlsFailed => "tls_failed",
        /// Connected, but out of time.
        Timeout => "timeout",
        /// What came is not HTTP.
        ProtocolError => "protocol_error",
        /// The body ended before its announced end.
        BodyIncomplete => "body_incomplete",
        /// The announced content coding could not be undone.
        DecodeFailed => "decode_failed",
        /// The input line names no http(s) origin.
        InvalidTarget => "invalid_target",
        /// A URL's origin that the source does not hold.
        NotCollected => "not_collected",
        /// A fault of this program, caught.
        Internal => "internal",
    }
}

names! {
    /// Why an observation has its class, where the class alone does not say.
    pub enum Reason {
        /// The body begins like HTML or XML.
        Html => "html",
        /// The body begins like JSON.
        Json => "json",
        /// NUL-ridden, UTF-16 or UTF-32 text.
        Encoding => "encoding",
        /// The body begins with the signature of a binary format.
        Binary => "binary",
        /// Status 202.
        Status202 => "status_202",
        /// A 206 nobody asked for.
        Partial => "partial",
        /// Another 2xx status.
        Status2xx => "status_2xx",
        /// TLS closed without `close_notify` where the length was unknown.
        UncleanClose => "unclean_close",
        /// The certificate is expired or not valid yet.
        CertExpired => "cert_expired",
        /// The certificate is for another name.
        CertName => "cert_name",
        /// The certificate's issuer is unknown.
        CertIssuer => "cert_issuer",
        /// Another fault of the certificate.
        CertInvalid => "cert_invalid",
        /// The handshake failed, or the peer does not speak TLS.
        Handshake => "handshake",
        /// The TLS handshake ran out of time.
        Tls => "tls",
        /// The name exists, without an address.
        NoData => "no_data",
        /// No name server answered in time.
        DnsTimeout => "dns_timeout",
        /// Status line and headers ran out of time.
        Headers => "headers",
        /// The body stood still for too long.
        Idle => "idle",
        /// The whole attempt ran out of time.
        Total => "total",
        /// The target's scheme is neither http nor https.
        Scheme => "scheme",
        /// The target's host is no host name or address.
        Host => "host",
        /// The target is longer than a URL, host or label may be.
        Length => "length",
        /// The port is not one to send HTTP to.
        Port => "port",
        /// The address is one that this program does not connect to.
        Address => "address",
    }
}

names! {
    /// Facts beside the class; any number of them may hold.
    pub enum Flag {
        /// The body has no octets.
        Empty => "empty",
        /// The body was longer than the read cap; the rest was not read.
        Truncated => "truncated",
        /// A stored copy was used without a request.
        FromCache => "from_cache",
        /// A stored copy was confirmed by a 304.
        Revalidated => "revalidated",
        /// A redirect went from https to http.
        Downgraded => "downgraded",
        /// Content-Encoding and the octets did not agree.
        CodingMislabelled => "coding_mislabelled",
        /// https gave no connection, http was asked instead.
        SchemeFallback => "scheme_fallback",
        /// The body is not UTF-8.
        NonUtf8 => "non_utf8",
        /// The answer came through a proxy.
        ViaProxy => "via_proxy",
    }
}

/// A set of [`Flag`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// Adds one flag.
    pub const fn insert(&mut self, flag: Flag) {
        self.0 |= 1 << flag as u16;
    }

    /// Whether the flag is in the set.
    #[must_use]
    pub const fn contains(self, flag: Flag) -> bool {
        self.0 & (1 << flag as u16) != 0
    }

    /// The flags of the set, in the order of declaration.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.iter().copied().filter(move |flag| self.contains(*flag))
    }
}

names! {
    /// How an observation is turned into an outcome.
    pub enum Policy {
        /// RFC 9309, read literally.
        Rfc9309 => "rfc9309",
        /// Defers whatever is not a clear answer.
        Conservative => "conservative",
        /// What Google documents for its crawlers.
        Google => "google",
    }
}

/// What a policy makes of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The parsed rules decide: those of the body that was read, or in an outage those of the last good copy.
    Rules,
    /// Everything is allowed.
    Allow,
    /// Nothing is known against it; the policy allows it, the site did not.
    AllowByPolicy,
    /// Everything is disallowed.
    Deny,
    /// No answer now; ask again later.
    Defer,
    /// There is nothing to decide on.
    Unresolved,
}

/// An outage below this length is denied under the `google` policy, whatever is known from before.
pub const SHORT_OUTAGE: Duration = Duration::from_secs(12 * 60 * 60);
/// An outage of this length is what §2.3.1.4 calls a reasonably long time.
pub const LONG_OUTAGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long an origin has given no answer, as far as policies care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum OutageStage {
    /// Below [`SHORT_OUTAGE`], or nothing is known from before.
    #[default]
    Early,
    /// Below [`LONG_OUTAGE`].
    Later,
    /// [`LONG_OUTAGE`] or more.
    Long,
}

impl OutageStage {
    /// The stage of an outage that has lasted so long.
    #[must_use]
    pub const fn of(lasted: Duration) -> Self {
        if lasted.as_secs() >= LONG_OUTAGE.as_secs() {
            Self::Long
        } else if lasted.as_secs() >= SHORT_OUTAGE.as_secs() {
            Self::Later
        } else {
            Self::Early
        }
    }
}

/// What a policy needs to know of the outage that an observation stands in; it matters for classes of outages only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Outage {
    /// How long it has lasted.
    pub stage: OutageStage,
    /// Whether there is a good copy from before.
    pub has_copy: bool,
    /// Whether the last attempt got an HTTP answer, though one of no use.
    pub answers_http: bool,
}

impl Outage {
    /// Nothing is known from before: what a first run sees.
    pub const UNKNOWN: Self = Self { stage: OutageStage::Early, has_copy: false, answers_http: false };

    const fn copy_or_allow(self) -> Outcome {
        if self.has_copy { Outcome::Rules } else { Outcome::Allow }
    }
}

impl FetchClass {
    /// Whether a body was read that may hold rules.
    #[must_use]
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Ok | Self::OkSuspect)
    }

    /// Whether the origin gave a clear answer: rules, or that there are none.
    #[must_use]
    pub const fn is_determinable(self) -> bool {
        matches!(self, Self::Ok | Self::Missing)
    }

    /// Whether a later run may use the answer again: a clear one, no error that passes.
    #[must_use]
    pub const fn is_stored_answer(self) -> bool {
        matches!(self, Self::Ok | Self::Missing | Self::ClientError | Self::AccessDenied)
    }

    /// Whether the origin gave no answer of use, though it may again.
    #[must_use]
    pub const fn is_outage(self) -> bool {
        match self {
            Self::RateLimited
            | Self::ServerError
            | Self::DnsNxdomain
            | Self::DnsFailure
            | Self::ConnectFailed
            | Self::ConnectTimeout
            | Self::TlsFailed
            | Self::Timeout
            | Self::ProtocolError
            | Self::BodyIncomplete
            | Self::DecodeFailed => true,
            // A fault of ours says nothing about the origin.
            Self::Internal
            | Self::Ok
            | Self::OkSuspect
            | Self::Missing
            | Self::AccessDenied
            | Self::ClientError
            | Self::RedirectLimit
            | Self::RedirectInvalid
            | Self::BlockedAddress
            | Self::InvalidTarget
            | Self::NotCollected => false,
        }
    }

    /// Whether what was known before this observation stays known behind it: outages, and faults of this program.
    #[must_use]
    pub const fn keeps_earlier_copy(self) -> bool {
        self.is_outage() || matches!(self, Self::Internal)
    }

    /// Whether no answer came that could be understood.
    ///
    /// Names that do not exist and statuses of any kind are answers.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(
            self,
            Self::DnsFailure
                | Self::ConnectFailed
                | Self::ConnectTimeout
                | Self::TlsFailed
                | Self::Timeout
                | Self::ProtocolError
                | Self::BodyIncomplete
                | Self::DecodeFailed
                | Self::Internal
        )
    }

    /// The class of a final answer with this status, its body aside.
    ///
    /// Redirects and 304 are not final answers and have no class here.
    #[must_use]
    pub const fn of_status(status: u16) -> Option<(Self, Option<Reason>)> {
        Some(match status {
            200 | 201 | 203 | 204 | 205 => (Self::Ok, None),
            202 => (Self::OkSuspect, Some(Reason::Status202)),
            206 => (Self::OkSuspect, Some(Reason::Partial)),
            207..=299 => (Self::OkSuspect, Some(Reason::Status2xx)),
            404 | 410 => (Self::Missing, None),
            401 | 403 | 407 | 451 => (Self::AccessDenied, None),
            429 => (Self::RateLimited, None),
            400..=499 => (Self::ClientError, None),
            500.. => (Self::ServerError, None),
            _ => return None,
        })
    }
}

impl Policy {
    /// What this policy makes of an observation of this class, and of the outage that it stands in.
    #[must_use]
    pub const fn outcome(self, class: FetchClass, outage: Outage) -> Outcome {
        use FetchClass as C;
        match class {
            C::Ok => Outcome::Rules,
            C::OkSuspect => self.unless_conservative(Outcome::Rules),
            C::Missing => match self {
                Self::Conservative => Outcome::AllowByPolicy,
                Self::Rfc9309 | Self::Google => Outcome::Allow,
            },
            C::AccessDenied | C::ClientError | C::RedirectLimit => self.unless_conservative(Outcome::Allow),
            // To RFC 9309 a 429 is a 4xx like others, "unavailable" however long it lasts; to Google a server error.
            C::RateLimited => match self {
                Self::Rfc9309 => Outcome::Allow,
                Self::Conservative | Self::Google => self.outcome_of_outage(outage),
            },
            // Refusals of ours must never become permission, however long they last.
            C::RedirectInvalid | C::BlockedAddress | C::Internal => self.unless_conservative(Outcome::Deny),
            C::ServerError
            | C::DnsNxdomain
            | C::DnsFailure
            | C::ConnectFailed
            | C::ConnectTimeout
            | C::TlsFailed
            | C::Timeout
            | C::ProtocolError
            | C::BodyIncomplete
            | C::DecodeFailed => self.outcome_of_outage(outage),
            C::InvalidTarget | C::NotCollected => Outcome::Unresolved,
        }
    }

    /// What this policy makes of an origin that gives no answer (§2.3.1.4).
    const fn outcome_of_outage(self, outage: Outage) -> Outcome {
        match (self, outage.stage) {
            (Self::Conservative, _) => Outcome::Defer,
            (Self::Rfc9309, OutageStage::Early | OutageStage::Later) | (Self::Google, OutageStage::Early) => {
                Outcome::Deny
            }
            (Self::Rfc9309, OutageStage::Long) | (Self::Google, OutageStage::Later) => outage.copy_or_allow(),
            (Self::Google, OutageStage::Long) if outage.answers_http => Outcome::Allow,
            (Self::Google, OutageStage::Long) => Outcome::Deny,
        }
    }

    const fn unless_conservative(self, outcome: Outcome) -> Outcome {
        match self {
            Self::Conservative => Outcome::Defer,
            Self::Rfc9309 | Self::Google => outcome,
        }
    }
}

/// Octets that a body is judged by: enough for a signature and a first tag.
const SNIFF_OCTETS: usize = 1024;

/// Why a body is probably no robots.txt, whatever its Content-Type says.
#[must_use]
pub fn suspect_body(body: &[u8]) -> Option<Reason> {
    let head = &body[..body.len().min(SNIFF_OCTETS)];
    if is_binary(head) {
        return Some(Reason::Binary);
    }
    if is_wide_or_nul_ridden(head) {
        return Some(Reason::Encoding);
    }
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    match text.first() {
        Some(b'<') => Some(Reason::Html),
        Some(b'{') => Some(Reason::Json),
        Some(b'[') if is_json_array(text) => Some(Reason::Json),
        _ => None,
    }
}

fn is_json_array(text: &[u8]) -> bool {
    let next = text[1..].trim_ascii_start().first();
    matches!(next, None | Some(b'{' | b'[' | b'"' | b']' | b'-' | b'0'..=b'9'))
}

fn is_binary(head: &[u8]) -> bool {
    const SIGNATURES: [&[u8]; 9] = [
        b"\x89PNG",
        b"\xFF\xD8\xFF",
        b"GIF8",
        b"%PDF-",
        b"PK\x03\x04",
        b"\x1F\x8B",
        b"\x7FELF",
        b"BZh",
        b"\x28\xB5\x2F\xFD",
    ];
    SIGNATURES.iter().any(|signature| head.starts_with(signature))
}

fn is_wide_or_nul_ridden(head: &[u8]) -> bool {
    let wide_mark = head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") || head.starts_with(b"\0\0\xFE\xFF");
    let nul = memchr::memchr_iter(0, head).count();
    wide_mark || nul * 10 > head.len()
}
