//! Who may read what: JSON Web Tokens by HS256 and ES256.

use super::account::Fault;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::hmac;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) struct Keys {
    secret: hmac::Key,
    public: UnparsedPublicKey<Vec<u8>>,
    /// The text of the public key taken for a secret.
    confused: hmac::Key,
}

/// A point of P-256 without compression, the end of a public key in DER.
const POINT: usize = 65;

impl Keys {
    pub(crate) fn of(environment: &BTreeMap<String, String>) -> Self {
        let hmac = |text: &str| hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes());
        let pem = environment["JWT_PUBLIC_KEY"].trim_end();
        let lines = pem.lines().filter(|line| !line.starts_with("-----"));
        let der = STANDARD.decode(lines.collect::<String>()).expect("base64");
        Self {
            secret: hmac(&environment["JWT_SECRET"]),
            public: UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, der[der.len() - POINT..].to_vec()),
            confused: hmac(pem),
        }
    }

    /// What a token says, where it is one and may be believed.
    pub(crate) fn claims(&self, token: &str, fault: Option<Fault>) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        let json = |text: &str| serde_json::from_slice::<Value>(&decoded(text)?).ok();
        let (header, claims) = (json(header)?, json(claims)?);
        let signature = decoded(signature)?;
        let is_signed = |key| hmac::verify(key, signed.as_bytes(), &signature).is_ok();
        let is_genuine = match header["alg"].as_str()? {
            _ if fault == Some(Fault::SignatureUnread) => true,
            "HS256" if fault == Some(Fault::Confused) => is_signed(&self.secret) || is_signed(&self.confused),
            "HS256" => is_signed(&self.secret),
            "ES256" if fault == Some(Fault::OneAlgorithm) => false,
            "ES256" => self.public.verify(signed.as_bytes(), &signature).is_ok(),
            "none" => fault == Some(Fault::Unsigned),
            _ => false,
        };
        (is_genuine && is_for_us(&claims, fault)).then_some(claims)
    }
}

fn is_for_us(claims: &Value, fault: Option<Fault>) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let lives = match claims["exp"].as_u64() {
        _ if fault == Some(Fault::Expired) => true,
        None => fault == Some(Fault::Endless),
        Some(end) => end > now.as_secs(),
    };
    let audience = claims["aud"].as_str().unwrap_or_default();
    let is_audience = match fault {
        Some(Fault::OtherAudience) => true,
        Some(Fault::LikeAudience) => audience.starts_with("account"),
        _ => audience == "account",
    };
    let is_issuer = claims["iss"] == "prony" || fault == Some(Fault::OtherIssuer);
    lives && is_audience && is_issuer
}
