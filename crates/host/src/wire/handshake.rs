//! The start of a connection: possibly output of a login script, then one marker line that prony knows.

/// Start of the line after which frames follow; the protocol version and `CLOSE` complete it.
pub const AGENT: &str = "[[prony:agent:";
/// Start of a line that the bootstrap script prints.
const SCRIPT: &str = "[[prony:host:";
/// End of both lines.
const CLOSE: &str = "]]\n";
/// Maximum number of bytes before the marker.
const MOST_JUNK: usize = 64 << 10;
/// Longest marker, bytes.
const MOST_LINE: usize = 1_024;

/// The line that ends the greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// The line of an agent with this protocol version; its frames follow.
    Agent { protocol: u32 },
    /// The line of the bootstrap script: its words, separated by colons.
    Script(Vec<String>),
}

/// Collects bytes until a marker is complete.
#[derive(Debug, Default)]
pub struct GreetingReader {
    bytes: Vec<u8>,
}

impl GreetingReader {
    /// Appends received bytes. Returns the marker and the bytes after it. `Err`: too many bytes arrived without a marker; call
    /// [`GreetingReader::junk`].
    #[expect(clippy::result_unit_err, reason = "the junk is the only information")]
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

    /// The last lines received before the marker, for an error message.
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
