//! The certificates of a run: an authority, which clients trust alone, and one for the services of a host.

use crate::Failure;
use prony_load::{ConnectOptions, Target, Tls, TlsChoices};
use prony_records::TrialStage;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

/// The name that clients send and verify.
const NAME: &str = "localhost";
/// The clocks of two hosts may differ.
const EARLIER: Duration = Duration::from_hours(1);
const VALID: Duration = Duration::from_hours(30 * 24);

/// Makes the certificates on demand: most runs have no TLS.
#[derive(Default)]
pub struct Certificates {
    issuer: OnceLock<CertifiedIssuer<'static, KeyPair>>,
    /// By the address of the host.
    services: Mutex<BTreeMap<String, Arc<ServiceCertificate>>>,
}

/// The certificate that a service gets, in PEM.
#[derive(Debug)]
pub(crate) struct ServiceCertificate {
    /// The certificate, and that of its authority.
    pub(crate) chain: String,
    /// Its private key, PKCS#8.
    pub(crate) key: String,
    /// The certificate of the authority.
    pub(crate) authority: String,
}

impl Certificates {
    /// The certificate of the services with this address.
    pub(crate) fn of_address(&self, address: &str) -> Result<Arc<ServiceCertificate>, Failure> {
        let mut services = self.services.lock().expect("invariant: no holder panics");
        if let Some(known) = services.get(address) {
            return Ok(Arc::clone(known));
        }
        let new = self
            .issuer()
            .and_then(|issuer| signed(issuer, address))
            .map_err(|error| {
                let text = format!("no certificate for the service could be made: {error}");
                Failure::infrastructure(TrialStage::Start, text)
            })?;
        let new = Arc::new(new);
        services.insert(address.to_owned(), Arc::clone(&new));
        Ok(new)
    }

    fn issuer(&self) -> Result<&CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
        if let Some(issuer) = self.issuer.get() {
            return Ok(issuer);
        }
        let mut params = params(Vec::new(), "prony, of one run")?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(self.issuer.get_or_init(|| issuer))
    }
}

fn params(names: Vec<String>, common_name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    let begin = SystemTime::now() - EARLIER;
    params.not_before = begin.into();
    params.not_after = (begin + VALID).into();
    Ok(params)
}

/// ECDSA with P-256, which is the algorithm of a new key pair.
fn signed(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    address: &str,
) -> Result<ServiceCertificate, rcgen::Error> {
    let mut params = params(vec![NAME.to_owned(), address.to_owned()], NAME)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?;
    Ok(ServiceCertificate {
        chain: certificate.pem() + &issuer.pem(),
        key: key.serialize_pem(),
        authority: issuer.pem(),
    })
}

impl ServiceCertificate {
    /// The TLS port of a service, for clients that trust this run alone, and offer what all services must agree to.
    pub(crate) fn target(&self, host: &str, port: u16) -> Target {
        let authority = format!("{NAME}:{port}");
        Target {
            url: format!("https://{authority}"),
            host: host.to_owned(),
            port,
            authority,
            tls: Some(Tls {
                server_name: NAME.to_owned(),
                insecure: false,
                cacert: Some(self.authority.clone()),
                choices: TlsChoices {
                    uniform: true,
                    ..TlsChoices::default()
                },
            }),
            connect: ConnectOptions::default(),
            credentials: None,
        }
    }
}
