//! A throw-away certificate authority: one per web, never written anywhere.
//!
//! Every name gets its certificate when it is asked for, so that thousands of origins cost no memory.

use std::fmt;
use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{ServerConfig, crypto};

use super::answer::Certificate;

/// The name that a certificate for another name is for.
const WRONG_HOST: &str = "elsewhere.test";
/// The name that a client without SNI (an address) gets a certificate for.
const ADDRESS: &str = "127.0.0.1";

/// Issues certificates.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
    site_key: KeyPair,
    site_signer: Arc<dyn SigningKey>,
}

impl Authority {
    pub(super) fn new() -> io::Result<Self> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "embedded web, throw-away authority");
        let root = params.self_signed(&key).map_err(io::Error::other)?.into();
        let site_key = KeyPair::generate().map_err(io::Error::other)?;
        let site_der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(site_key.serialize_der()));
        let site_signer = crypto::ring::sign::any_supported_type(&site_der).map_err(io::Error::other)?;
        Ok(Self { issuer: Issuer::new(params, key), root, site_key, site_signer })
    }

    /// The certificate that clients of this web must trust.
    pub(super) fn root(&self) -> &CertificateDer<'static> {
        &self.root
    }

    /// A certificate for the name, good or bad; `None` for a name that no certificate can hold.
    fn issue(&self, name: &str, kind: Certificate) -> Option<CertifiedKey> {
        let subject = if kind == Certificate::WrongHost { WRONG_HOST } else { name };
        let mut params = CertificateParams::new([subject.to_owned()]).ok()?;
        params.distinguished_name.push(DnType::CommonName, "embedded web, one site");
        if kind == Certificate::Expired {
            params.not_before = date_time_ymd(2019, 1, 1);
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        let certificate = if kind == Certificate::SelfSigned {
            params.self_signed(&self.site_key)
        } else {
            params.signed_by(&self.site_key, &self.issuer)
        };
        Some(CertifiedKey::new(vec![certificate.ok()?.into()], Arc::clone(&self.site_signer)))
    }
}

/// Chooses the certificate for the name of a client's greeting.
struct Resolver<F> {
    authority: Arc<Authority>,
    kind_of: F,
}

impl<F> fmt::Debug for Resolver<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

impl<F: Fn(&str) -> Certificate + Send + Sync> ResolvesServerCert for Resolver<F> {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().map_or_else(|| ADDRESS.to_owned(), str::to_ascii_lowercase);
        self.authority.issue(&name, (self.kind_of)(&name)).map(Arc::new)
    }
}

/// The TLS side of the web: HTTP/1.1 only, nothing kept between connections.
pub(super) fn server_config(
    authority: Arc<Authority>,
    kind_of: impl Fn(&str) -> Certificate + Send + Sync + 'static,
) -> io::Result<Arc<ServerConfig>> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Resolver { authority, kind_of }));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
