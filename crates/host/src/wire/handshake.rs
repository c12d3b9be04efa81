//! What comes before the first frame: perhaps the words of a login script, and then one line that prony knows.

/// Begins the line after which frames come; the number of the protocol and `CLOSE` follow.
pub const AGENT: &str = "[[prony:agent:";
/// Begins a line of the script that looks for the binary.
const SCRIPT: &str = "[[prony:host:";
/// Ends both.
const CLOSE: &str = "]]\n";
/// Most bytes before the line.
const MOST_JUNK: usize = 64 << 10;
/// Longest line.
const MOST_LINE: usize = 1_024;

/// The line that ends the greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// An agent speaks, in this version of the protocol; its frames follow.
    Agent {
        /// The number of its protocol.
        protocol: u32,
    },
    /// A script of prony speaks: its words, which were divided by colons.
    Script(Vec<String>),
}

/// Takes bytes until a marker is complete.
#[derive(Debug, Default)]
pub struct Greeting {
    bytes: Vec<u8>,
}

impl Greeting {
    /// Takes what came. With the marker come the bytes behind it. `Err`: so much came that no marker will; say
    /// [`Greeting::junk`].
    #[expect(clippy::result_unit_err, reason = "all that there is to know is the junk")]
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<(Marker, Vec<u8>)>, ()> {
        self.bytes.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(begin) = self.find(from) {
            let line = &self.bytes[begin..];
            let Some(end) = position(line, CLOSE.as_bytes()) else {
                if line.len() <= MOST_LINE {
                    return Ok(None);
                }
                from = begin + 1;
                continue;
            };
            if let Some(marker) = marker(&line[..end]) {
                let rest = line[end + CLOSE.len()..].to_vec();
                self.bytes.truncate(begin);
                return Ok(Some((marker, rest)));
            }
            from = begin + 1;
        }
        if self.bytes.len() > MOST_JUNK {
            return Err(());
        }
        Ok(None)
    }

    /// The last lines of what came and was no marker, for an error.
    pub fn junk(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        (!last.is_empty()).then(|| last.chars().take(300).collect())
    }

    fn find(&self, from: usize) -> Option<usize> {
        let rest = &self.bytes[from..];
        let first = [AGENT, SCRIPT].map(|word| position(rest, word.as_bytes()));
        first.into_iter().flatten().min().map(|at| from + at)
    }
}

fn marker(line: &[u8]) -> Option<Marker> {
    let line = std::str::from_utf8(line).ok()?;
    if let Some(protocol) = line.strip_prefix(AGENT) {
        let protocol = protocol.parse().ok()?;
        return Some(Marker::Agent { protocol });
    }
    let words = line.strip_prefix(SCRIPT)?.split(':').map(str::to_owned);
    Some(Marker::Script(words.collect()))
}

fn position(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).position(|window| window == word)
}
