//! Tokens that `prony load --sequence` mints, with a server that verifies each signature itself.

use crate::common::{assert_contains, json_of, prony, reply, serve, stderr_of};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

const SECRET: &str = "correct horse";

/// The claims of a token that is signed with the secret.
fn claims(token: &str) -> Option<Value> {
    let (signed, signature) = token.rsplit_once('.')?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hmac::verify(&key, signed.as_bytes(), &signature).ok()?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(signed.split_once('.')?.1).ok()?).ok()
}

/// The user in the path of a request, and whether the token belongs to that user.
fn visitor(head: &str) -> Option<(String, bool)> {
    let name = head.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    let token = head
        .lines()
        .find_map(|line| line.strip_prefix("Authorization: Bearer "))?;
    let is_theirs = claims(token).is_some_and(|claims| claims["sub"] == name.as_str());
    Some((name, is_theirs))
}

/// The output of a load with this file, and the names in its requests.
fn loaded(sequence: &str, switches: &[&str]) -> (std::process::Output, BTreeSet<String>) {
    let seen = Arc::<Mutex<BTreeSet<String>>>::default();
    let kept = Arc::clone(&seen);
    let url = serve(move |request| {
        let (name, is_theirs) = visitor(&request.head)?;
        kept.lock().ok()?.insert(name);
        let refused = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
        Some(if is_theirs { reply("") } else { refused.to_vec() })
    });
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("users.csv"), "user\nada\nbob\ncleo\n").expect("a table");
    std::fs::write(folder.path().join("secret"), format!("{SECRET}\n")).expect("a secret");
    let file = folder.path().join("visit.toml");
    std::fs::write(&file, sequence).expect("a sequence");
    let file = file.to_str().expect("text");
    let output = prony(&[&["load", &url, "--sequence", file, "--json"], switches].concat());
    let seen = seen.lock().expect("no panic").clone();
    (output, seen)
}

const OF_EACH: &str = r#"
data = "users.csv"

[jwt.token]
alg = "HS256"
key = { file = "secret" }
claims = { sub = "{user}", exp = "10m" }

[[step]]
http = "GET /{user}"
headers = { Authorization = "Bearer {token}" }
"#;

#[test]
fn each_user_has_a_token_of_its_own() {
    let (output, seen) = loaded(OF_EACH, &["-n", "90", "-c", "4"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert_eq!(
        json_of(&output)["outcomes"]["valid"],
        90,
        "{}",
        stderr_of(&output)
    );
    assert_eq!(seen, BTreeSet::from(["ada", "bob", "cleo"].map(str::to_owned)));
    assert!(!stderr_of(&output).contains("expires"), "{}", stderr_of(&output));
}

#[test]
fn a_wrong_secret_is_not_let_in() {
    let wrong = OF_EACH.replace(r#"{ file = "secret" }"#, r#""another""#);
    let (output, _) = loaded(&wrong, &["-n", "30"]);
    assert_eq!(
        json_of(&output)["outcomes"]["status"],
        30,
        "{}",
        stderr_of(&output)
    );
}

#[test]
fn a_token_for_all_needs_no_table() {
    let shared = OF_EACH
        .replace("data = \"users.csv\"\n", "")
        .replace("{user}", "ada");
    let (output, seen) = loaded(&shared, &["-n", "30"]);
    assert_eq!(
        json_of(&output)["outcomes"]["valid"],
        30,
        "{}",
        stderr_of(&output)
    );
    assert_eq!(seen, BTreeSet::from(["ada".to_owned()]));
}

#[test]
fn a_token_that_expires_during_the_load_is_reported_before_it() {
    let short = OF_EACH.replace("10m", "1s");
    let (output, _) = loaded(&short, &["-d", "1500ms"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert_contains(&stderr_of(&output), "one of its tokens expires");
}

#[test]
fn a_token_that_cannot_be_minted_is_reported_with_its_line() {
    for (from, to, parts) in [
        (
            "secret\" }",
            "none\" }",
            ["visit.toml:4", "`jwt.token`: `key`: none: "],
        ),
        ("HS256", "HS512", ["visit.toml:5", "HS512"]),
        (
            "{user}\", exp",
            "{who}\", exp",
            ["visit.toml:4", "`{who}` has no value"],
        ),
    ] {
        let (output, _) = loaded(&OF_EACH.replace(from, to), &["-n", "3"]);
        assert_eq!(output.status.code(), Some(2), "{to}: {}", stderr_of(&output));
        for part in parts {
            assert_contains(&stderr_of(&output), part);
        }
    }
}
