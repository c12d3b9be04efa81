//! Redis, as far as a cache of accounts needs it.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

pub(crate) struct Cache {
    address: String,
    user: String,
    password: String,
    /// What the names of its keys begin with.
    prefix: String,
}

impl Cache {
    pub(crate) fn at(url: &str, prefix: &str) -> Self {
        let server = url.trim_start_matches("redis://").split('/').next();
        let (login, address) = server.and_then(|server| server.split_once('@')).expect("a login");
        let (user, password) = login.split_once(':').expect("a password");
        Self {
            address: address.to_owned(),
            user: user.to_owned(),
            password: password.to_owned(),
            prefix: prefix.to_owned(),
        }
    }

    /// What is kept. A mark is nothing.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.ask(&["GET", &self.key(key)]).filter(|text| !text.is_empty())
    }

    /// Stores a value unless there is a value or a mark, for `ms` milliseconds or without expiry.
    pub(crate) fn keep(&self, key: &str, value: &str, ms: Option<u32>) {
        let (key, ms) = (self.key(key), ms.map(|ms| ms.to_string()));
        let mut words = vec!["SET", &key, value, "NX"];
        words.extend(ms.as_deref().map(|ms| ["PX", ms]).into_iter().flatten());
        self.ask(&words);
    }

    /// Puts a mark in the place of a value: who read what was there before must not keep it now.
    pub(crate) fn mark(&self, key: &str, ms: u32) {
        self.ask(&["SET", &self.key(key), "", "PX", &ms.to_string()]);
    }

    fn key(&self, key: &str) -> String {
        format!("{}:{key}", self.prefix)
    }

    /// The text that comes back, where one does.
    fn ask(&self, words: &[&str]) -> Option<String> {
        let mut asked = String::new();
        for command in [&["AUTH", &self.user, &self.password], words] {
            let _ = write!(asked, "*{}\r\n", command.len());
            for word in command {
                let _ = write!(asked, "${}\r\n{word}\r\n", word.len());
            }
        }
        let mut stream = TcpStream::connect(&self.address).expect("Redis listens");
        stream.write_all(asked.as_bytes()).expect("Redis reads");
        let (mut reader, mut line) = (BufReader::new(stream), String::new());
        reader.read_line(&mut line).expect("Redis answers");
        assert_eq!(line, "+OK\r\n", "the password of {}", self.address);
        line.clear();
        reader.read_line(&mut line).expect("Redis answers");
        assert!(!line.starts_with('-'), "Redis refuses {words:?}: {line}");
        let length = line.strip_prefix('$')?.trim_end().parse().ok()?;
        let mut text = vec![0; length];
        reader.read_exact(&mut text).expect("all of it");
        String::from_utf8(text).ok()
    }
}
