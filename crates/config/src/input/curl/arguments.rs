//! The arguments of curl, and the request that they describe.

use super::data::{Files, text};
use super::switches::{self, Effect, Switch};
use super::url::{self, UrlOptions};
use super::words::CommandWords;
use super::{CurlError, CurlRequest, FileAccess};
use crate::input::multipart::{self, FormPart};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_load::Protocol;
use std::cell::RefCell;

/// The request of a command.
pub(super) fn parse(command: CommandWords, files: FileAccess<'_>) -> Result<CurlRequest, CurlError> {
    let mut arguments = Arguments {
        files: Files {
            access: files,
            stdin: command.stdin,
            gaps: RefCell::default(),
        },
        gaps: command.gaps,
        urls: Vec::new(),
        method: None,
        is_head: false,
        is_query: false,
        headers: Vec::new(),
        removed: Vec::new(),
        own: Vec::new(),
        cookies: Vec::new(),
        data: None,
        is_json: false,
        form: Vec::new(),
        upload: None,
        user: None,
        other_authentication: None,
        query: Vec::new(),
        scheme: "http".to_owned(),
        keeps_dots: false,
        has_no_patterns: false,
        insecure: false,
        protocol: None,
        follow: false,
        compressed: false,
        connection: Vec::new(),
        remarks: Vec::new(),
    };
    arguments.read(command.words)?;
    arguments.finish()
}

/// What the switches say.
struct Arguments<'a> {
    files: Files<'a>,
    gaps: Vec<String>,
    urls: Vec<String>,
    method: Option<String>,
    is_head: bool,
    /// Whether data are sent in the query.
    is_query: bool,
    /// The headers of `--header`.
    headers: Vec<(String, String)>,
    /// The names of headers that are not sent, in lowercase.
    removed: Vec<String>,
    /// Headers of other switches, which those of `--header` replace.
    own: Vec<(&'static str, String)>,
    cookies: Vec<String>,
    data: Option<Vec<u8>>,
    is_json: bool,
    form: Vec<FormPart>,
    /// The name and the content of a file.
    upload: Option<(String, Vec<u8>)>,
    user: Option<String>,
    /// The switch that asks for another authentication than the basic one.
    other_authentication: Option<String>,
    query: Vec<String>,
    scheme: String,
    keeps_dots: bool,
    has_no_patterns: bool,
    insecure: bool,
    protocol: Option<Protocol>,
    follow: bool,
    compressed: bool,
    /// Switches that only change the connection.
    connection: Vec<String>,
    remarks: Vec<String>,
}

impl Arguments<'_> {
    fn read(&mut self, words: Vec<Vec<u8>>) -> Result<(), CurlError> {
        let mut words = words.into_iter();
        let mut has_switches = true;
        while let Some(word) = words.next() {
            match word.as_slice() {
                b"--" if has_switches => has_switches = false,
                [b'-', b'-', name @ ..] if has_switches => {
                    let name = text("--", name)?;
                    let (name, joined) = match name.split_once('=') {
                        Some((name, value)) => (name.to_owned(), Some(value.as_bytes().to_vec())),
                        None => (name, None),
                    };
                    let switch = switches::long(&name)?;
                    self.switch(switch, &format!("--{name}"), joined, &mut words)?;
                }
                [b'-', letters @ ..] if has_switches && !letters.is_empty() => {
                    self.letters(letters, &mut words)?;
                }
                url => self.urls.push(text("the URL", url)?),
            }
        }
        Ok(())
    }

    /// Switches of one letter, in one word. The rest of the word is the value of the first that has one.
    fn letters(
        &mut self,
        letters: &[u8],
        words: &mut impl Iterator<Item = Vec<u8>>,
    ) -> Result<(), CurlError> {
        for (at, letter) in letters.iter().enumerate() {
            let letter = char::from(*letter);
            let shown = format!("-{letter}");
            let switch = switches::short(letter).ok_or_else(|| CurlError::Unknown(shown.clone()))?;
            let rest = &letters[at + 1..];
            let joined = (switch.has_value && !rest.is_empty()).then(|| rest.to_vec());
            let is_last = joined.is_some();
            self.switch(switch, &shown, joined, words)?;
            if is_last {
                break;
            }
        }
        Ok(())
    }

    fn switch(
        &mut self,
        switch: Switch,
        shown: &str,
        joined: Option<Vec<u8>>,
        words: &mut impl Iterator<Item = Vec<u8>>,
    ) -> Result<(), CurlError> {
        let value = if switch.has_value {
            let value = joined.or_else(|| words.next());
            value.ok_or_else(|| CurlError::NoValue(shown.to_owned()))?
        } else {
            Vec::new()
        };
        match switch.effect {
            Effect::Output => {}
            Effect::Connection => {
                if !switch.is_off && !self.connection.iter().any(|known| known == shown) {
                    self.connection.push(shown.to_owned());
                }
            }
            Effect::Gap if switch.is_off => {}
            Effect::Gap => {
                const AUTHENTICATION: [&str; 6] =
                    ["digest", "ntlm", "ntlm-wb", "negotiate", "anyauth", "aws-sigv4"];
                if AUTHENTICATION.contains(&switch.name) {
                    self.other_authentication = Some(shown.to_owned());
                } else {
                    self.gaps.push(format!(
                        "`{shown}` of curl changes the request, and is not taken over"
                    ));
                }
            }
            Effect::Refused if switch.name == "next" => {
                let reason = "it starts another request: give that one a command of its own";
                return Err(CurlError::value(shown, reason));
            }
            Effect::Refused => return Err(CurlError::Unknown(shown.to_owned())),
            Effect::Request if switch.has_value => self.request_value(switch.name, shown, value)?,
            Effect::Request => self.request_flag(switch.name, !switch.is_off),
        }
        Ok(())
    }

    fn request_flag(&mut self, name: &str, is_on: bool) {
        match name {
            "get" => self.is_query = is_on,
            "head" => self.is_head = is_on,
            "compressed" => self.compressed = is_on,
            "insecure" => self.insecure = is_on,
            "http2" | "http2-prior-knowledge" => self.protocol = is_on.then_some(Protocol::Http2),
            "http1.1" => self.protocol = is_on.then_some(Protocol::Http1),
            "path-as-is" => self.keeps_dots = is_on,
            "globoff" => self.has_no_patterns = is_on,
            "basic" => self.other_authentication = None,
            // `location` and `location-trusted`.
            _ => self.follow = is_on,
        }
    }

    fn request_value(&mut self, name: &'static str, shown: &str, value: Vec<u8>) -> Result<(), CurlError> {
        match name {
            "data" | "data-ascii" | "data-raw" | "data-binary" | "json" => {
                let data = self.files.data((name, shown), value)?;
                self.is_json |= name == "json";
                self.add_data(data, if name == "json" { "" } else { "&" });
                return Ok(());
            }
            "data-urlencode" => {
                let data = self.files.encoded(shown, &value)?;
                self.add_data(data, "&");
                return Ok(());
            }
            "form" => {
                self.form.push(self.files.form_part(shown, &value)?);
                return Ok(());
            }
            _ => {}
        }
        let value = text(shown, &value)?;
        match name {
            "request" => self.method = Some(value),
            "header" => self.header(shown, &value)?,
            "user-agent" => self.set_own("User-Agent", value),
            "referer" => {
                let referer = value.strip_suffix(";auto").unwrap_or(&value).to_owned();
                self.set_own("Referer", referer);
            }
            "range" => {
                let open = if value.contains('-') { "" } else { "-" };
                self.set_own("Range", format!("bytes={value}{open}"));
            }
            "oauth2-bearer" => self.set_own("Authorization", format!("Bearer {value}")),
            "cookie" if value.is_empty() || value.contains('=') => self.cookies.push(value),
            "cookie" => {
                let reason = format!(
                    "`{value}` is a file of cookies, which is not read: give the cookies themselves, as in -b 'name=value'"
                );
                return Err(CurlError::value(shown, reason));
            }
            "form-string" => {
                let (name, content) = value
                    .split_once('=')
                    .ok_or_else(|| CurlError::value(shown, "it has no `=`: write name=content"))?;
                self.form.push(FormPart {
                    name: name.to_owned(),
                    content: content.as_bytes().to_vec(),
                    ..FormPart::default()
                });
            }
            "url-query" => {
                let query = match value.strip_prefix('+') {
                    Some(raw) => raw.to_owned(),
                    None => text(shown, &self.files.encoded(shown, value.as_bytes())?)?,
                };
                self.query.push(query);
            }
            "user" => self.user = Some(value),
            "upload-file" => {
                let content = self.files.content(shown, &value)?;
                self.upload = Some((value, content));
            }
            "proto-default" => self.scheme = value,
            _ => self.urls.push(value),
        }
        Ok(())
    }

    fn set_own(&mut self, name: &'static str, value: String) {
        self.own.retain(|(known, _)| *known != name);
        self.own.push((name, value));
    }

    fn add_data(&mut self, data: Vec<u8>, separator: &str) {
        match &mut self.data {
            Some(all) => {
                all.extend_from_slice(separator.as_bytes());
                all.extend_from_slice(&data);
            }
            None => self.data = Some(data),
        }
    }

    /// `Name: value`; `Name:` removes a header, and `Name;` is an empty one.
    fn header(&mut self, shown: &str, header: &str) -> Result<(), CurlError> {
        if header.starts_with('@') {
            let reason = "headers in a file are not read: write each as -H 'Name: value'";
            return Err(CurlError::value(shown, reason));
        }
        let (name, value) = match (header.split_once(':'), header.split_once(';')) {
            (Some((name, value)), _) => (name, Some(value.trim()).filter(|value| !value.is_empty())),
            (None, Some((name, value))) if value.trim().is_empty() => (name, Some("")),
            _ => {
                // Its text may be a secret.
                let remark =
                    "One of the headers has no `:`, and is not sent, as with curl: write -H 'Name: value'";
                self.gaps.push(remark.to_owned());
                return Ok(());
            }
        };
        let name = name.trim().to_owned();
        match value {
            Some(value) => self.headers.push((name, value.to_owned())),
            None => self.removed.push(name.to_ascii_lowercase()),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<CurlRequest, CurlError> {
        let mut bodies = Vec::new();
        bodies.extend((self.data.is_some() && !self.is_query).then_some("-d"));
        bodies.extend((!self.form.is_empty()).then_some("-F"));
        bodies.extend(self.upload.as_ref().map(|_| "-T"));
        bodies.extend(self.is_head.then_some("-I"));
        if let [first, second, ..] = bodies.as_slice() {
            return Err(CurlError::Conflict(first, second));
        }
        let url = self.url()?;
        self.credentials(url.user);
        let method = match bodies.first() {
            Some(&"-I") => "HEAD",
            Some(&"-T") => "PUT",
            Some(_) => "POST",
            None => "GET",
        };
        let body = self.body();
        if !self.cookies.is_empty() {
            self.set_own("Cookie", self.cookies.join(";"));
        }
        self.gaps.extend(self.files.gaps.take());
        let mut remarks = std::mem::take(&mut self.remarks);
        if !self.connection.is_empty() {
            remarks.push(format!(
                "Switches of curl that only change the connection are not taken over: `{}`",
                self.connection.join("`, `")
            ));
        }
        for (name, value) in std::mem::take(&mut self.own) {
            if !value.is_empty() && !self.has_header(name) {
                self.headers.push((name.to_owned(), value));
            }
        }
        Ok(CurlRequest {
            url: url.url,
            method: self.method.unwrap_or_else(|| method.to_owned()),
            headers: self.headers,
            body,
            insecure: self.insecure,
            protocol: self.protocol,
            follow: self.follow,
            compressed: self.compressed,
            remarks,
            gaps: self.gaps,
        })
    }

    /// Whether `--header` sets or removes a header.
    fn has_header(&self, name: &str) -> bool {
        let mut set = self.headers.iter();
        self.removed.contains(&name.to_ascii_lowercase())
            || set.any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    fn url(&mut self) -> Result<url::SentUrl, CurlError> {
        let mut text = match self.urls.as_slice() {
            [] => return Err(CurlError::NoUrl),
            [url] => url.clone(),
            [first, second, ..] => {
                let shown = crate::target::shown;
                return Err(CurlError::TwoUrls(shown(first), shown(second)));
            }
        };
        if let Some((file, _)) = self.upload.as_ref().filter(|_| text.ends_with('/')) {
            text.push_str(file.rsplit('/').next().unwrap_or_default());
        }
        let mut query = std::mem::take(&mut self.query);
        if self.is_query
            && let Some(data) = self.data.take()
        {
            query.push(self::text("-G", &data)?);
        }
        let options = UrlOptions {
            default_scheme: &self.scheme,
            keeps_dots: self.keeps_dots,
            has_no_patterns: self.has_no_patterns,
            query: &query.join("&"),
        };
        let url = url::sent(&text, &options)?;
        Ok(url)
    }

    /// The credentials of `--user`, else those of the URL.
    fn credentials(&mut self, of_url: Option<String>) {
        let Some(user) = self.user.take().or(of_url) else {
            return;
        };
        if let Some(shown) = &self.other_authentication {
            self.gaps.push(format!(
                "Only basic authentication is supported (`{shown}` of curl): its credentials are not sent"
            ));
            return;
        }
        if self.own.iter().any(|(name, _)| *name == "Authorization") {
            return;
        }
        if !user.contains(':') {
            let remark = "The user has no password, for which curl asks: an empty one is sent";
            self.gaps.push(remark.to_owned());
        }
        let pair = if user.contains(':') { user } else { user + ":" };
        self.set_own("Authorization", format!("Basic {}", STANDARD.encode(pair)));
    }

    /// The body of a form, whose boundary is in the header that says its type.
    fn form_body(&mut self) -> Vec<u8> {
        let own = multipart::boundary(&self.form);
        let is_type = |(name, _): &&mut (String, String)| name.eq_ignore_ascii_case("content-type");
        let Some((_, kind)) = self.headers.iter_mut().find(is_type) else {
            self.set_own("Content-Type", multipart::media_type(&own));
            return multipart::body(&self.form, &own);
        };
        let given = multipart::boundary_of(kind).map(str::to_owned);
        if given.is_none() {
            *kind = format!("{kind}; boundary={own}");
        }
        multipart::body(&self.form, &given.unwrap_or(own))
    }

    /// The body, with the headers that say its type.
    fn body(&mut self) -> Option<Vec<u8>> {
        if !self.form.is_empty() {
            return Some(self.form_body());
        }
        if let Some((_, content)) = self.upload.take() {
            return Some(content);
        }
        let data = self.data.take()?;
        if self.is_json {
            self.set_own("Content-Type", "application/json".to_owned());
            self.set_own("Accept", "application/json".to_owned());
        } else {
            self.set_own("Content-Type", "application/x-www-form-urlencoded".to_owned());
        }
        Some(data)
    }
}
