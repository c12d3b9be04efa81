//! Tokens that requests carry: JSON Web Tokens (RFC 7519), signed as JSON Web Signatures in compact form (RFC 7515).
//!
//! They are minted when the contract is read. The libraries for JWTs bring another implementation of cryptography; ring is
//! already a dependency for TLS, and load tests need only two kinds of signature.

use crate::ConfigError;
use crate::contract::named_file;
use crate::contract::toml::{Algorithm, EnvironmentToml, FileToml, JwtToml, KeyToml};
use crate::format::SourceFile;
use crate::format::Spanned;
use crate::format::template::{Piece, mentioned, parse};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use prony_load::DurationText;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Signs the tokens of one name.
struct TokenSigner<'a> {
    written: &'a JwtToml,
    key: Key,
    header: String,
    now: Duration,
}

enum Key {
    Hmac(ring::hmac::Key),
    Ecdsa(Box<EcdsaKeyPair>, SystemRandom),
    None,
}

/// Claims that are times in seconds since 1970 (RFC 7519, section 4.1). A text is a duration from now: `exp = "1h"`.
const TIMES: [&str; 3] = ["exp", "nbf", "iat"];

/// What is wrong with an environment variable.
const fn absent(error: &std::env::VarError) -> &'static str {
    match error {
        std::env::VarError::NotPresent => "is not set",
        std::env::VarError::NotUnicode(_) => "is not a text in UTF-8",
    }
}

impl<'a> TokenSigner<'a> {
    fn new(written: &'a JwtToml, folder: &Path) -> Result<Self, String> {
        let text = match &written.key {
            KeyToml::Text(text) => text.clone(),
            KeyToml::File(FileToml { file }) => {
                named_file::read(folder, file).map_err(|reason| format!("`key`: {file}: {reason}"))?
            }
            KeyToml::Variable(EnvironmentToml { variable }) => std::env::var(variable)
                .map_err(|error| format!("`key`: the environment variable {variable} {}", absent(&error)))?,
        };
        let (key, alg) = match written.alg {
            // The line break at the end of a file is not part of the secret.
            Algorithm::Hs256 => (Key::hmac(text.trim_end_matches(['\r', '\n'])), "HS256"),
            Algorithm::Es256 => (Key::ecdsa(&text)?, "ES256"),
            Algorithm::None => (Key::None, "none"),
        };
        let mut header = Map::from_iter([("alg".to_owned(), json!(alg)), ("typ".to_owned(), json!("JWT"))]);
        header.extend(written.header.clone());
        Ok(Self {
            written,
            key,
            header: encoded(Value::Object(header).to_string()),
            now: now(),
        })
    }

    /// A token whose claims have these values in their placeholders.
    fn mint(&self, values: &ClaimValues) -> Result<String, String> {
        let mut claims = Map::new();
        for (name, value) in &self.written.claims {
            let at = |reason: String| format!("`claims.{name}`: {reason}");
            let value = match value {
                Value::String(text) if TIMES.contains(&name.as_str()) => {
                    let after: DurationText = text.parse().map_err(|_| {
                        at(format!(
                            "\"{text}\" is not a duration: write \"1h\", or seconds since 1970 as a number"
                        ))
                    })?;
                    json!((self.now + after.0).as_secs())
                }
                value => filled(value.clone(), values).map_err(at)?,
            };
            claims.insert(name.clone(), value);
        }
        let signed = format!("{}.{}", self.header, encoded(Value::Object(claims).to_string()));
        let signature = self.key.sign(signed.as_bytes())?;
        Ok(format!("{signed}.{}", encoded(signature)))
    }
}

impl Key {
    fn hmac(secret: &str) -> Self {
        Self::Hmac(ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes()))
    }

    /// The private key of a PEM file in PKCS #8 (RFC 5958).
    fn ecdsa(pem: &str) -> Result<Self, String> {
        const WANTED: &str = "`key`: ES256 takes a private key of the curve P-256 as PEM in PKCS #8, `BEGIN PRIVATE KEY`: \
             make it with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`, or turn another form into it with \
             `openssl pkcs8 -topk8 -nocrypt`";
        let inner = pem
            .split_once("-----BEGIN PRIVATE KEY-----")
            .and_then(|(_, rest)| rest.split_once("-----END PRIVATE KEY-----"))
            .map(|(inner, _)| inner.split_whitespace().collect::<String>());
        let der = inner
            .and_then(|inner| STANDARD.decode(inner).ok())
            .ok_or(WANTED)?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random)
            .map_err(|error| format!("{WANTED} ({error})"))?;
        Ok(Self::Ecdsa(Box::new(pair), random))
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::None => Ok(Vec::new()),
            Self::Hmac(key) => Ok(ring::hmac::sign(key, text).as_ref().to_vec()),
            Self::Ecdsa(pair, random) => match pair.sign(random, text) {
                Ok(signature) => Ok(signature.as_ref().to_vec()),
                Err(_) => Err("cannot sign: the system returned no random bytes".to_owned()),
            },
        }
    }
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The values of placeholders in claims, by name.
type ClaimValues = BTreeMap<String, String>;

/// Fills the placeholders in the texts of a value. The error explains how to give a missing value.
fn filled(value: Value, values: &ClaimValues) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => {
            let mut out = String::new();
            for piece in parse(&text).map_err(|error| error.message)? {
                match piece {
                    Piece::Text(text) => out.push_str(&text),
                    Piece::Formula(_) => return Err("claims have no formulas".to_owned()),
                    Piece::Reference(reference) => {
                        let name = reference.name.plain().unwrap_or_default();
                        let value = values.get(name).ok_or_else(|| {
                            format!("`{{{name}}}` has no value: name a column of the workload's `data`")
                        })?;
                        out.push_str(value);
                    }
                }
            }
            Value::String(out)
        }
        Value::Array(list) => Value::Array(
            list.into_iter()
                .map(|value| filled(value, values))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| Ok((name, filled(value, values)?)))
                .collect::<Result<_, String>>()?,
        ),
        other => other,
    })
}

/// Whether the claims have placeholders, so that each user has a token of its own.
fn has_places(jwt: &JwtToml) -> bool {
    jwt.claims
        .values()
        .any(|value| filled(value.clone(), &ClaimValues::new()).is_err())
}

/// The tokens of a contract, by the name of their placeholder.
pub(crate) type Jwts = BTreeMap<String, Spanned<JwtToml>>;

/// The tokens that were minted when the contract was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens {
    /// Tokens that are the same for all users, by the name of their placeholder.
    pub(crate) shared: BTreeMap<String, String>,
    /// When the first of all tokens expires; `None` if none does.
    pub(crate) expire: Option<SystemTime>,
}

/// Mints the tokens that are the same for all users.
pub(crate) fn mint(file: &SourceFile, folder: &Path, jwts: &Jwts) -> Result<Tokens, ConfigError> {
    let shared = jwts
        .iter()
        .filter(|(_, jwt)| !has_places(jwt.get_ref()))
        .map(|(name, jwt)| {
            let minted =
                TokenSigner::new(jwt.get_ref(), folder).and_then(|minter| minter.mint(&ClaimValues::new()));
            let token =
                minted.map_err(|reason| file.invalid(jwt.span(), format!("`jwt.{name}`: {reason}")))?;
            Ok((name.clone(), token))
        })
        .collect::<Result<_, _>>()?;
    Ok(Tokens {
        shared,
        expire: expiry(jwts),
    })
}

/// The tokens that differ between users: a column for each name, in the order of the table's rows.
pub(crate) fn columns(
    file: &SourceFile,
    folder: &Path,
    jwts: &Jwts,
    table: &[(String, Vec<String>)],
) -> Result<Vec<(String, Vec<String>)>, ConfigError> {
    let rows = table.first().map_or(0, |(_, values)| values.len());
    let of_row = |row: usize| -> ClaimValues {
        let cell = |(name, values): &(String, Vec<String>)| (name.clone(), values[row].clone());
        table.iter().map(cell).collect()
    };
    jwts.iter()
        .filter(|(_, jwt)| has_places(jwt.get_ref()))
        .map(|(name, jwt)| {
            let minted = TokenSigner::new(jwt.get_ref(), folder)
                .and_then(|minter| (0..rows).map(|row| minter.mint(&of_row(row))).collect());
            let tokens = minted
                .map_err(|reason: String| file.invalid(jwt.span(), format!("`jwt.{name}`: {reason}")))?;
            Ok((name.clone(), tokens))
        })
        .collect()
}

/// Tokens whose placeholders are filled, by name: each with one text, or with a value for each row.
pub(crate) fn filled_by(
    file: &SourceFile,
    folder: &Path,
    jwts: &Jwts,
    value: impl Fn(&str) -> Option<Vec<String>>,
) -> Result<Vec<(String, Vec<String>)>, ConfigError> {
    let mut minted = Vec::new();
    for (name, jwt) in jwts.iter().filter(|(_, jwt)| has_places(jwt.get_ref())) {
        let places = places(jwt.get_ref());
        let Some(columns) = places
            .into_iter()
            .map(|place| value(&place).map(|values| (place, values)))
            .collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        // A value that is the same for all rows is combined with each of them.
        let rows = columns.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
        let of_row = |row: usize| -> ClaimValues {
            let cell =
                |(name, values): &(String, Vec<String>)| (name.clone(), values[row % values.len()].clone());
            columns.iter().map(cell).collect()
        };
        let tokens: Result<Vec<String>, String> = TokenSigner::new(jwt.get_ref(), folder)
            .and_then(|minter| (0..rows).map(|row| minter.mint(&of_row(row))).collect());
        let tokens = tokens.map_err(|reason| file.invalid(jwt.span(), format!("`jwt.{name}`: {reason}")))?;
        minted.push((name.clone(), tokens));
    }
    Ok(minted)
}

/// The names of the placeholders of the claims.
pub(crate) fn places(jwt: &JwtToml) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open: Vec<&Value> = jwt.claims.values().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                names.extend(mentioned(text));
            }
            Value::Array(list) => open.extend(list),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    names
}

fn expiry(jwts: &Jwts) -> Option<SystemTime> {
    let of = |jwt: &JwtToml| match jwt.claims.get("exp")? {
        Value::String(text) => text.parse().ok().map(|DurationText(after)| now() + after),
        at => at.as_u64().map(Duration::from_secs),
    };
    // An already expired token is meant to be rejected.
    let later = |at: &Duration| *at > now();
    let first = jwts
        .values()
        .filter_map(|jwt| of(jwt.get_ref()))
        .filter(later)
        .min()?;
    UNIX_EPOCH.checked_add(first)
}

/// Time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair as _, UnparsedPublicKey};

    fn jwt(text: &str) -> JwtToml {
        toml::from_str(text).expect("a token")
    }

    fn parts(token: &str) -> Vec<Vec<u8>> {
        let decode = |part| URL_SAFE_NO_PAD.decode(part).expect("base64");
        token.split('.').map(decode).collect()
    }

    #[test]
    fn hs256_is_signed_with_the_secret() {
        let written = jwt(
            "alg = 'HS256'\nkey = 'secret'\nclaims = { sub = '1234567890', admin = true, n = [1, '{user}'] }",
        );
        let minter = TokenSigner::new(&written, Path::new("")).expect("a key");
        let values = ClaimValues::from([("user".into(), "ada \"x\"".to_owned())]);
        let token = minter.mint(&values).expect("a token");
        let parts_of_it = parts(&token);
        assert_eq!(parts_of_it[0], br#"{"alg":"HS256","typ":"JWT"}"#);
        let claims: Value = serde_json::from_slice(&parts_of_it[1]).expect("JSON");
        assert_eq!(
            claims,
            json!({ "sub": "1234567890", "admin": true, "n": [1, "ada \"x\""] })
        );
        let signed = token.rsplit_once('.').expect("three parts").0;
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"secret");
        ring::hmac::verify(&key, signed.as_bytes(), &parts_of_it[2]).expect("the signature of these parts");
    }

    #[test]
    fn es256_is_what_the_public_key_confirms() {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(der.as_ref())
        );
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("key.pem"), pem).expect("written");
        let written = jwt(
            "alg = 'ES256'\nkey = { file = 'key.pem' }\nheader = { kid = 'k1' }\nclaims = { exp = '1h' }",
        );
        let token = TokenSigner::new(&written, folder.path())
            .and_then(|minter| minter.mint(&ClaimValues::new()))
            .expect("a token");
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &random).expect("a key");
        let signed = token.rsplit_once('.').expect("three parts").0;
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref())
            .verify(signed.as_bytes(), &parts(&token)[2])
            .expect("the signature of these parts");
        let header: Value = serde_json::from_slice(&parts(&token)[0]).expect("JSON");
        assert_eq!(header, json!({ "alg": "ES256", "typ": "JWT", "kid": "k1" }));
        let claims: Value = serde_json::from_slice(&parts(&token)[1]).expect("JSON");
        let left = claims["exp"]
            .as_u64()
            .expect("seconds")
            .saturating_sub(now().as_secs());
        assert!((3500..=3600).contains(&left), "{left}");
    }

    #[test]
    fn a_token_that_cannot_be_created_is_an_error() {
        for (text, part) in [
            ("alg = 'ES256'\nkey = 'secret'", "openssl pkcs8 -topk8 -nocrypt"),
            (
                "alg = 'HS256'\nkey = { file = 'none' }",
                "`key`: none: there is no such file",
            ),
            (
                "alg = 'HS256'\nkey = { variable = 'PRONY_NO_SUCH_KEY' }",
                "PRONY_NO_SUCH_KEY",
            ),
            (
                "alg = 'HS256'\nkey = 'k'\nclaims = { exp = 'soon' }",
                "`claims.exp`: \"soon\" is not a duration",
            ),
            (
                "alg = 'HS256'\nkey = 'k'\nclaims = { sub = '{who}' }",
                "`{who}` has no value",
            ),
        ] {
            let written = jwt(text);
            let minted = TokenSigner::new(&written, Path::new("/nowhere"))
                .and_then(|minter| minter.mint(&ClaimValues::new()));
            let error = minted.expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
