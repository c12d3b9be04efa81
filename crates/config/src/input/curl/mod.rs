//! Parses `curl` command lines, as people type them and as browsers copy them: for a POSIX shell, for `cmd.exe`, and for
//! `PowerShell`.
//!
//! The words are split here and not by a crate such as `shlex`, because browsers quote with `$'…'` as soon as a request contains
//! a quote, a control character or a letter beyond ASCII, and those crates split only what POSIX defines.

mod arguments;
mod cmd;
mod data;
mod files;
mod powershell;
mod shell;
mod switches;
mod url;
mod words;

pub use files::read_file;

use prony_load::Protocol;
use words::{CommandWords, Script};

/// The request of a `curl` command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CurlRequest {
    /// The URL, with a scheme, without a fragment and without credentials.
    pub url: String,
    pub method: String,
    /// Names and values. Those that curl sends unasked, such as `User-Agent` and `Accept`, are not among them.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// The requested version of HTTP, if one is.
    pub protocol: Option<Protocol>,
    /// Whether redirects are followed.
    pub follow: bool,
    /// Whether compressed replies are requested.
    pub compressed: bool,
    /// Switches that do not change the request, and are not taken over.
    pub remarks: Vec<String>,
    /// Where the request differs from that of curl.
    pub gaps: Vec<String>,
}

/// Why a `curl` command line cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CurlError {
    /// It does not start with `curl`.
    #[error("it does not start with `curl`: give the whole line in quotes, as in --curl 'curl http://…'")]
    NoCurl,
    /// A quote that is not closed.
    #[error(
        "a quote is not closed: put the whole line in quotes of the other kind, or in a file and give --curl @FILE"
    )]
    OpenQuote,
    /// No URL.
    #[error("there is no URL in it")]
    NoUrl,
    /// More than one URL.
    #[error("there are two URLs in it, `{0}` and `{1}`: give each of them a command of its own")]
    TwoUrls(String, String),
    /// A URL that stands for several.
    #[error(
        "`{0}` stands for several URLs: give each of them a command of its own, or add -g if it does not"
    )]
    Pattern(String),
    /// More than one command.
    #[error("it has a second request in line {0}: give one command only")]
    TwoCommands(usize),
    /// A switch without its value.
    #[error("`{0}` has no value")]
    NoValue(String),
    /// A switch that could be one of several.
    #[error("`{0}` of curl is ambiguous: write the whole name")]
    Ambiguous(String),
    /// An unknown switch.
    #[error("`{0}` is not supported: leave it out")]
    Unknown(String),
    /// A value that cannot be used.
    #[error("`{switch}`: {reason}")]
    Value {
        switch: String,
        /// The reason, and the remedy.
        reason: String,
    },
    /// Switches that exclude each other.
    #[error("`{0}` and `{1}` exclude each other, as in curl: remove one of them")]
    Conflict(&'static str, &'static str),
}

impl CurlError {
    fn value(switch: &str, reason: impl Into<String>) -> Self {
        Self::Value {
            switch: switch.to_owned(),
            reason: reason.into(),
        }
    }
}

/// A request of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurlCommand {
    /// Its line in the script, from 1.
    pub line: usize,
    pub request: Result<CurlRequest, CurlError>,
}

/// Reads a file that a command names. The error is a reason.
pub type ReadFileFn<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// How the files that commands name are read.
#[derive(Clone, Copy)]
pub struct FileAccess<'a> {
    pub read: &'a ReadFileFn<'a>,
    /// Whether a file that cannot be read is empty, which is a gap of the request, and no error.
    pub is_lenient: bool,
}

/// Parses a single command. All files that it names must be readable.
pub fn parse(text: &str, read: &ReadFileFn<'_>) -> Result<CurlRequest, CurlError> {
    let files = FileAccess {
        read,
        is_lenient: false,
    };
    let mut commands = parse_script(text, files)?.into_iter();
    let first = commands.next().ok_or(CurlError::NoCurl)?;
    match commands.next() {
        Some(second) => Err(CurlError::TwoCommands(second.line)),
        None => first.request,
    }
}

/// Parses a text with at least one command. Commands of other programs are skipped.
pub fn parse_script(text: &str, files: FileAccess<'_>) -> Result<Vec<CurlCommand>, CurlError> {
    let text = text.trim_start_matches('\u{feff}');
    let commands = if powershell::is_powershell(text) {
        powershell::commands(text)
    } else {
        let script = if cmd::is_cmd(text) {
            cmd::script(text)
        } else {
            shell::script(text)
        };
        of_script(script, files)
    };
    if commands.is_empty() {
        return Err(CurlError::NoCurl);
    }
    Ok(commands)
}

fn of_script(script: Script, files: FileAccess<'_>) -> Vec<CurlCommand> {
    let curls = script.commands.into_iter().filter_map(|mut command| {
        let arguments = arguments_begin(&command)?;
        command.words.drain(..arguments);
        let line = command.line;
        Some(CurlCommand {
            line,
            request: arguments::parse(command, files),
        })
    });
    let mut commands: Vec<CurlCommand> = curls.collect();
    commands.extend(script.error.map(|(line, error)| CurlCommand {
        line,
        request: Err(error),
    }));
    commands
}

/// Words before the name of a program: a prompt, and commands and keywords of shells that start another one.
const BEFORE_PROGRAM: [&str; 12] = [
    "$", "%", "!", "{", "time", "sudo", "command", "exec", "nohup", "do", "then", "else",
];

/// The position of the first argument, if the command starts curl.
fn arguments_begin(command: &CommandWords) -> Option<usize> {
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        })
    };
    for (at, word) in command.words.iter().enumerate() {
        let word = std::str::from_utf8(word).ok()?;
        let program = word.rsplit(['/', '\\']).next().unwrap_or_default();
        if program.eq_ignore_ascii_case("curl") || program.eq_ignore_ascii_case("curl.exe") {
            return Some(at + 1);
        }
        if !BEFORE_PROGRAM.contains(&word) && !is_assignment(word) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Result<Vec<u8>, String> {
        match path {
            "f.txt" => Ok(b"one\r\ntwo\n".to_vec()),
            "dir/a.png" => Ok(b"\x89PNG".to_vec()),
            _ => Err("no such file".to_owned()),
        }
    }

    fn parsed(text: &str) -> CurlRequest {
        parse(text, &read).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn body(text: &str) -> String {
        String::from_utf8(parsed(text).body.expect("a body")).expect("UTF-8")
    }

    fn header<'a>(request: &'a CurlRequest, name: &str) -> Option<&'a str> {
        let mut headers = request.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// In the format that browsers copy.
    #[test]
    fn a_copied_line_is_understood() {
        let line = "curl 'https://h.example/api?a=1' \\\n  -X 'PUT' -H 'Accept: */*' \\\n  --data-raw $'{\"a\":\"it\\'s\\u0021\"}' --compressed -k";
        let request = parsed(line);
        assert_eq!(
            (request.url.as_str(), request.method.as_str()),
            ("https://h.example/api?a=1", "PUT")
        );
        assert_eq!(body(line), "{\"a\":\"it's!\"}");
        assert!(request.insecure && request.compressed && request.protocol.is_none());
        assert_eq!(header(&request, "accept"), Some("*/*"));
        assert_eq!(
            header(&request, "content-type"),
            Some("application/x-www-form-urlencoded")
        );
    }

    #[test]
    fn a_line_copied_for_cmd_is_understood() {
        let line = "curl ^\"http://h/a?b=1^&c=2^\" ^\r\n  -H ^\"accept: */*^\" ^\r\n  -H ^\"x: 50^%^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\":^\\^\"^\\^\\^\\^\\b^^c^%^d^\\^\",^\n\n^}^\"";
        let request = parsed(line);
        assert_eq!(
            (request.url.as_str(), request.method.as_str()),
            ("http://h/a?b=1&c=2", "POST")
        );
        assert_eq!(header(&request, "x"), Some("50%"));
        assert_eq!(body(line), "{\"a\":\"\\\\\\\\b^c%d\",\n}");
        let quoted = parsed(
            "curl \"http://h/a?b=1&c=2\" ^\n  -H \"x: a\"\"b\"\"\" --data \"{\\\"a\\\":\"%\"}\" > out.txt",
        );
        assert_eq!(
            (quoted.url.as_str(), header(&quoted, "x")),
            ("http://h/a?b=1&c=2", Some("a\"b\""))
        );
        assert_eq!(quoted.body.as_deref(), Some(&b"{\"a\":%}"[..]));
        let bash = parsed("curl \"http://h/\" -H \"x: ^\" -d '^\"'");
        assert_eq!(
            (header(&bash, "x"), bash.body.as_deref()),
            (Some("^"), Some(&b"^\""[..]))
        );
    }

    #[test]
    fn a_command_copied_for_powershell_is_understood() {
        let text = "$session = New-Object Microsoft.PowerShell.Commands.WebRequestSession\n$session.UserAgent = \"Mozilla/5.0\"\n\
                    $session.Cookies.Add((New-Object System.Net.Cookie(\"sid\", \"a`$b\", \"/\", \"h\")))\n\
                    Invoke-WebRequest -UseBasicParsing -Uri \"http://h/a?b=1&c=2\" `\r\n-Method \"POST\" `\n-WebSession $session `\n\
                    -Headers @{\n\"authority\"=\"h\"\n  \"method\"=\"POST\"\n\"path\"=\"/a\"\n \"scheme\"=\"https\"\n\"accept\"=\"*/*\"; x='it''s'\n} `\n\
                    -ContentType \"application/json\" `\n\
                    -Body ([System.Text.Encoding]::UTF8.GetBytes(\"{`\"a`\":`\"$([char]228)$([char]55357)$([char]56832)`\"}\"))\n";
        let request = parsed(text);
        assert_eq!(
            (request.url.as_str(), request.method.as_str()),
            ("http://h/a?b=1&c=2", "POST")
        );
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["User-Agent", "Cookie", "accept", "x", "Content-Type"]);
        assert_eq!(
            (header(&request, "cookie"), header(&request, "x")),
            (Some("sid=a$b"), Some("it's"))
        );
        assert_eq!(body(text), "{\"a\":\"ä😀\"}");
        let form = "irm h/a -Method Post -Body @{ a = 1; 'b c' = \"d\" } | ConvertTo-Json";
        assert_eq!(
            (parsed(form).url.as_str(), body(form).as_str()),
            ("http://h/a", "a=1&b+c=d")
        );
        let alias = parsed("curl -Method PUT -Uri http://h/a -UseBasicParsing");
        assert_eq!((alias.url.as_str(), alias.method.as_str()), ("http://h/a", "PUT"));
        for (text, part) in [
            (
                "Invoke-WebRequest -Uri http://h -Body $body",
                "`-Body`: variables and expressions",
            ),
            (
                "Invoke-WebRequest -Uri \"http://h/$id\"",
                "`-Uri`: variables and expressions",
            ),
            (
                "Invoke-RestMethod -Uri http://h -Form @{ a = 1 }",
                "`-Form` is not supported",
            ),
            ("Invoke-WebRequest -Method Get", "no URL"),
            ("Invoke-WebRequest -Uri \"http://h", "quote"),
        ] {
            let error = parse(text, &read).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn data_makes_a_post_or_a_query() {
        let post = parsed("curl h/a -d a=1 -d \"b=\\\"2\\\"\"");
        assert_eq!((post.url.as_str(), post.method.as_str()), ("http://h/a", "POST"));
        assert_eq!(post.body.as_deref(), Some(&b"a=1&b=\"2\""[..]));
        let get = parsed("curl -G http://h/a?x=0#top -da=1");
        assert_eq!(
            (get.url.as_str(), get.method.as_str()),
            ("http://h/a?x=0&a=1", "GET")
        );
        let json = parsed("curl --json={} -XPATCH http://h");
        assert_eq!((json.method.as_str(), json.headers.len()), ("PATCH", 2));
        assert_eq!(body("curl -d @f.txt h"), "onetwo");
        assert_eq!(body("curl --data-binary @f.txt h"), "one\r\ntwo\n");
        assert_eq!(body("curl --data-raw @f.txt h"), "@f.txt");
        assert_eq!(body("curl -d @- h <<< 'x y'"), "x y");
        assert_eq!(body("curl --data-binary @- h < f.txt"), "one\r\ntwo\n");
        let form =
            parsed("curl h -F 'a=\"x;y\";type=text/x' -F f=@dir/a.png -F 'g=<f.txt' --form-string 'h=@i;j'");
        let form = String::from_utf8_lossy(form.body.as_deref().expect("a body")).into_owned();
        for part in [
            "name=\"a\"\r\nContent-Type: text/x\r\n\r\nx;y\r\n",
            "name=\"f\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n",
            "name=\"g\"\r\n\r\none\r\ntwo\n\r\n",
            "name=\"h\"\r\n\r\n@i;j\r\n",
        ] {
            assert!(form.contains(part), "no {part:?} in {form}");
        }
        assert_eq!(parsed("curl -T f.txt h/dir/").url, "http://h/dir/f.txt");
    }

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, expected) in [
            (r#"curl h -d a'b c'"d\"e"\ f"#, "ab cd\"e f"),
            (
                r"curl h -d $'a\n\t\x41\103\u00e4\ud83d\ude00\\\q'",
                "a\n\tACä😀\\\\q",
            ),
            ("curl h -d $\"a\"", "a"),
            ("curl h/redirect-uri -d a", "a"),
            ("curl h -d a # comment", "a"),
            ("curl h -d a 2>&1 >/dev/null", "a"),
            ("curl h -d a &> /dev/null", "a"),
            ("curl h -d a; curl_other", "a"),
            ("curl h -d a && echo b || echo c &", "a"),
            ("$ curl h -d a", "a"),
            ("sudo /usr/bin/curl h -d a", "a"),
            ("curl h `\n  -d a", "a"),
            ("curl h\n  -d a", "a"),
            ("curl h \\\r\n  -d a\r\n", "a"),
            ("cat x | curl h -d a", "a"),
            ("curl h -d \"$(date +%s) ${A B}\"", "$(date +%s) ${A B}"),
        ] {
            assert_eq!(body(text), expected, "{text}");
        }
        let bytes = parsed("curl h -d $'\\xe4'");
        assert_eq!(bytes.body.as_deref(), Some(&b"\xe4"[..]));
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (line, part) in [
            ("", "start with `curl`"),
            ("wget http://h", "start with `curl`"),
            ("curl -s", "no URL"),
            ("curl 'http://h", "quote"),
            (
                "curl http://h http://i",
                "two URLs in it, `http://h` and `http://i`",
            ),
            (
                "curl http://h --next http://i",
                "`--next`: it starts another request",
            ),
            ("curl http://h && curl http://i", "second request in line 1"),
            ("curl http://h\ncurl http://i", "second request in line 2"),
            ("curl 'http://h/{a,b}'", "stands for several URLs"),
            ("curl 'http://h/[1-3]'", "stands for several URLs"),
            ("curl http://h -H", "`-H` has no value"),
            (
                "curl http://h -d @file",
                "`-d`: cannot read the file `file`: no such file",
            ),
            (
                "curl http://h -d @-",
                "`-d`: the standard input is not in the command",
            ),
            ("curl http://h -F a", "`-F`: it has no `=`"),
            (
                "curl http://h -F 'a=@b;headers=x'",
                "`headers=` and `encoder=` are not supported",
            ),
            (
                "curl http://h -b cookies.txt",
                "`-b`: `cookies.txt` is a file of cookies",
            ),
            ("curl http://h -H @f", "`-H`: headers in a file are not read"),
            ("curl http://h -d a -F b=c", "`-d` and `-F` exclude each other"),
            ("curl http://h -I -d a", "`-d` and `-I` exclude each other"),
            ("curl http://h -K f", "`-K` is not supported"),
            ("curl http://h --nothing", "`--nothing` is not supported"),
            ("curl http://h --data-", "`--data-` of curl is ambiguous"),
            ("curl http://h -s?", "`-?` is not supported"),
        ] {
            let error = parse(line, &read).expect_err(line).to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn patterns_of_prony_and_brackets_are_no_patterns_of_curl() {
        for url in [
            "http://h/{n:range(1,9)}",
            "http://h/{name}",
            "http://h/?a[]=1&b[0]=2",
            "http://[::1]/",
        ] {
            assert_eq!(parsed(&format!("curl '{url}'")).url, url);
        }
        assert_eq!(parsed("curl -g 'http://h/{a,b}'").url, "http://h/{a,b}");
    }
}
