//! The names of secrets: of headers, cookies, parameters of a query, and fields of a body. The only such list.

/// Whole names, without `-`, `_`, `.` and case.
const NAMES: [&str; 21] = [
    "auth",
    "authorization",
    "bearer",
    "csrf",
    "jwt",
    "otp",
    "pass",
    "passphrase",
    "passwd",
    "pwd",
    "sessid",
    "sessionid",
    "jsessionid",
    "phpsessid",
    "connectsid",
    "sid",
    "xauth",
    "xcsrf",
    "xsrf",
    "credential",
    "credentials",
];

/// How other names end: `x-api-key`, `refreshToken`, `client_secret`, `AWS_SECRET_ACCESS_KEY`.
const ENDINGS: [&str; 14] = [
    "accesskey",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "encryptionkey",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "signature",
    "subscriptionkey",
    "token",
];

/// Further names of parameters. In JSON, `key` and `code` are seldom secrets.
const PARAMETERS: [&str; 3] = ["key", "sig", "code"];

/// Whether a header, a cookie or a field with this name contains a secret.
///
/// ```
/// use prony_load::secrets::is_secret;
/// assert!(is_secret("Proxy-Authorization") && is_secret("X-Api-Key") && is_secret("newPassword"));
/// assert!(!is_secret("Content-Type") && !is_secret("max_tokens") && !is_secret("author"));
/// ```
pub fn is_secret(name: &str) -> bool {
    let plain = plain(name);
    NAMES.contains(&plain.as_str()) || ENDINGS.iter().any(|ending| plain.ends_with(ending))
}

/// Whether a parameter of a query or of a form with this name contains a secret.
///
/// ```
/// use prony_load::secrets::is_secret_parameter;
/// assert!(is_secret_parameter("key") && is_secret_parameter("access_token") && !is_secret_parameter("page"));
/// ```
pub fn is_secret_parameter(name: &str) -> bool {
    PARAMETERS.contains(&plain(name).as_str()) || is_secret(name)
}

fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}
