//! The switches of curl, by their effect on a request.

use super::CurlError;

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Switch {
    /// Its long name, without dashes.
    pub(super) name: &'static str,
    pub(super) has_value: bool,
    pub(super) effect: Effect,
    /// Whether it was written as `--no-…`.
    pub(super) is_off: bool,
}

/// What a switch changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The request.
    Request,
    /// The request, in a way that is not supported.
    Gap,
    /// The connection.
    Connection,
    /// The handling of the reply, or the output.
    Output,
    /// Nothing is sent, or more than one request.
    Refused,
}

/// Switches by effect: with a value or without. Each is its long name, after the short one if it has one. Those of other protocols
/// than HTTP are unknown.
const TABLE: [(Effect, bool, &str); 10] = [
    (
        Effect::Request,
        false,
        "G,get I,head compressed k,insecure http1.1 http2 http2-prior-knowledge path-as-is g,globoff L,location location-trusted \
         basic",
    ),
    (
        Effect::Request,
        true,
        "X,request H,header A,user-agent e,referer b,cookie d,data data-ascii data-raw data-binary data-urlencode json F,form \
         form-string url url-query u,user oauth2-bearer T,upload-file r,range proto-default",
    ),
    (
        Effect::Gap,
        false,
        "digest ntlm ntlm-wb negotiate anyauth n,netrc netrc-optional tr-encoding crlf B,use-ascii form-escape",
    ),
    (
        Effect::Gap,
        true,
        "aws-sigv4 netrc-file z,time-cond C,continue-at etag-compare request-target service-name sasl-authzid login-options \
         delegation variable",
    ),
    (
        Effect::Connection,
        false,
        "0,http1.0 http0.9 http3 http3-only 4,ipv4 6,ipv6 1,tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 2,sslv2 3,sslv3 ssl \
         ssl-reqd ssl-no-revoke ssl-revoke-best-effort ssl-allow-beast ssl-auto-client-cert ca-native proxy-ca-native \
         cert-status doh-cert-status doh-insecure false-start haproxy-protocol p,proxytunnel proxy-anyauth proxy-basic \
         proxy-digest proxy-insecure proxy-negotiate proxy-ntlm proxy-http2 proxy-tlsv1 proxy-ssl-allow-beast \
         proxy-ssl-auto-client-cert socks5-basic socks5-gssapi socks5-gssapi-nec tcp-fastopen tcp-nodelay mptcp alpn npn \
         no-alpn no-npn sessionid no-sessionid keepalive no-keepalive",
    ),
    (
        Effect::Connection,
        true,
        "x,proxy preproxy proxy1.0 socks4 socks4a socks5 socks5-hostname socks5-gssapi-service noproxy U,proxy-user proxy-header \
         proxy-cacert proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-key proxy-key-type proxy-pass \
         proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser \
         haproxy-clientip E,cert cert-type key key-type pass cacert capath ciphers crlfile curves sigalgs pinnedpubkey \
         tls-max tls13-ciphers tlsauthtype tlspassword tlsuser engine egd-file random-file ech resolve connect-to unix-socket \
         abstract-unix-socket interface local-port dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url \
         happy-eyeballs-timeout-ms ip-tos vlan-priority keepalive-time keepalive-cnt alt-svc hsts",
    ),
    (
        Effect::Output,
        false,
        "s,silent S,show-error v,verbose i,include show-headers f,fail fail-with-body fail-early #,progress-bar progress-meter \
         no-progress-meter N,no-buffer buffer no-clobber clobber O,remote-name remote-name-all J,remote-header-name R,remote-time \
         remove-on-error create-dirs styled-output trace-time trace-ids raw ignore-content-length retry-all-errors \
         retry-connrefused post301 post302 post303 suppress-connect-headers disallow-username-in-url Z,parallel \
         parallel-immediate xattr metalink j,junk-session-cookies q,disable skip-existing",
    ),
    (
        Effect::Output,
        true,
        "o,output output-dir w,write-out m,max-time connect-timeout expect100-timeout retry retry-delay retry-max-time \
         max-filesize max-redirs limit-rate rate Y,speed-limit y,speed-time D,dump-header c,cookie-jar stderr trace trace-ascii \
         trace-config etag-save libcurl parallel-max create-file-mode proto proto-redir",
    ),
    (Effect::Refused, true, "K,config"),
    (Effect::Refused, false, ":,next V,version M,manual h,help"),
];

fn all() -> impl Iterator<Item = (Option<char>, Switch)> {
    TABLE.into_iter().flat_map(|(effect, has_value, names)| {
        names.split_whitespace().map(move |names| {
            let (short, name) = match names.split_once(',') {
                Some((short, name)) => (short.chars().next(), name),
                None => (None, names),
            };
            let switch = Switch {
                name,
                has_value,
                effect,
                is_off: false,
            };
            (short, switch)
        })
    })
}

/// The switch of one letter.
pub(super) fn short(letter: char) -> Option<Switch> {
    let mut found = all().filter(|(short, _)| *short == Some(letter));
    found.next().map(|(_, switch)| switch)
}

/// The switch with a long name, or with the start of only one.
pub(super) fn long(name: &str) -> Result<Switch, CurlError> {
    let known = |name: &str| all().map(|(_, switch)| switch).find(|switch| switch.name == name);
    if let Some(switch) = known(name) {
        return Ok(switch);
    }
    if let Some(switch) = name.strip_prefix("no-").and_then(known)
        && !switch.has_value
    {
        return Ok(Switch {
            is_off: true,
            ..switch
        });
    }
    let mut begins = all()
        .map(|(_, switch)| switch)
        .filter(|switch| switch.name.starts_with(name));
    match (begins.next(), begins.next()) {
        (Some(switch), None) => Ok(switch),
        (Some(_), Some(_)) => Err(CurlError::Ambiguous(format!("--{name}"))),
        (None, _) => Err(CurlError::Unknown(format!("--{name}"))),
    }
}
