use std::env;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;

#[derive(Deserialize)]
pub struct Claims {
    sub: String,
    #[serde(default)]
    scope: String,
}

impl Claims {
    /// Whether the bearer may see and change an account.
    pub fn may(&self, account: &str) -> bool {
        self.sub == account || self.scope.split_whitespace().any(|word| word == "admin")
    }
}

/// What tokens may be signed with: each algorithm has a key of its own, because a public key is no secret.
#[derive(Clone)]
pub struct Tokens(Arc<Vec<(Validation, DecodingKey)>>);

impl Tokens {
    pub fn from_environment() -> Self {
        let variable = |name| env::var(name).unwrap_or_default();
        let secret = DecodingKey::from_secret(variable("JWT_SECRET").as_bytes());
        let mut known = vec![(validation(Algorithm::HS256), secret)];
        if let Ok(key) = DecodingKey::from_ec_pem(variable("JWT_PUBLIC_KEY").as_bytes()) {
            known.push((validation(Algorithm::ES256), key));
        }
        Self(Arc::new(known))
    }

    /// What the token of a request says, if it is ours and valid.
    pub fn claims(&self, headers: &HeaderMap) -> Option<Claims> {
        let (scheme, token) = headers
            .get(header::AUTHORIZATION)?
            .to_str()
            .ok()?
            .split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("Bearer") {
            return None;
        }
        let algorithm = decode_header(token).ok()?.alg;
        let (validation, key) = self
            .0
            .iter()
            .find(|(known, _)| known.algorithms.contains(&algorithm))?;
        Some(decode(token, key, validation).ok()?.claims)
    }
}

fn validation(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.set_issuer(&["prony"]);
    validation.set_audience(&["account"]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.leeway = 0;
    validation
}
