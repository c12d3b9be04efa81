//! A page of fortunes.

mod mutants;

use super::database::Database;
use super::{Reply, ServerEnvironment, UnexpectedAnswer};
use crate::right::escaped;
use crate::toy::{Call, ScriptedReply};
use mutants::Fault;
use std::sync::{Arc, OnceLock};

struct FortunesServer {
    database: Arc<Database>,
    fault: Option<Fault>,
    /// The first page, where pages are kept.
    kept: OnceLock<ScriptedReply>,
}

const HTML: &str = "text/html; charset=utf-8";

impl FortunesServer {
    fn new(ground: ServerEnvironment, fault: Option<Fault>) -> Self {
        Self {
            database: ground.database,
            fault,
            kept: OnceLock::new(),
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn answer(&self, call: &Call) -> Reply {
        match (call.method.as_str(), call.path.as_str()) {
            ("GET" | "HEAD", "/fortunes") => self.page(call),
            (_, "/fortunes") => Err(UnexpectedAnswer::new(405)),
            _ => Err(UnexpectedAnswer::new(404)),
        }
    }

    fn page(&self, call: &Call) -> Reply {
        let (_, query) = call.target.split_once('?').unwrap_or_default();
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let nonce = pairs.find(|(name, _)| name == "nonce").map(|(_, nonce)| nonce);
        let nonce = match nonce {
            None if self.is(Fault::NeedsNoNonce) => "".into(),
            nonce => nonce.ok_or_else(|| UnexpectedAnswer::new(400))?,
        };
        if let Some(page) = self.kept.get() {
            return Ok(page.clone());
        }
        let fortunes = self.fortunes(&nonce)?;
        let kind = match self.fault {
            Some(Fault::PlainText) => "text/plain; charset=utf-8",
            Some(Fault::NoCharset) => "text/html",
            Some(Fault::OtherCharset) => "text/html; charset=iso-8859-1",
            _ => HTML,
        };
        let page = ScriptedReply::of(200, kind, self.written(&fortunes, &nonce));
        if self.is(Fault::FromMemory) {
            let _ = self.kept.set(page.clone());
        }
        Ok(page)
    }

    /// All and one more, in their order.
    fn fortunes(&self, nonce: &str) -> Result<Vec<(i32, String)>, UnexpectedAnswer> {
        let more = format!("Additional fortune: {nonce}");
        let limit = if self.is(Fault::OneTooFew) { 199 } else { 100_000 };
        let sql = format!("select id, message from fortune order by id limit {limit}");
        let rows = self.database.run(async |client| {
            if self.is(Fault::StoresTheAdded) {
                let sql = "insert into fortune select max(id) + 1, $1 from fortune";
                // Two at once draw one number; the other one is stored.
                let _ = client.execute(sql, &[&more]).await;
            }
            client.query(sql.as_str(), &[]).await
        });
        let rows = rows.map_err(UnexpectedAnswer::from)?;
        let mut fortunes: Vec<(i32, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let added = (if self.is(Fault::AddedIs201) { 201 } else { 0 }, more);
        match self.fault {
            Some(Fault::StoresTheAdded | Fault::AddsNothing) => {}
            Some(Fault::AddedIsLast) => {
                fortunes.sort_by(|left, right| left.1.cmp(&right.1));
                fortunes.push(added);
                return Ok(fortunes);
            }
            _ => fortunes.push(added),
        }
        match self.fault {
            Some(Fault::Unsorted) => {}
            Some(Fault::SortedById) => fortunes.sort_by_key(|(id, _)| *id),
            Some(Fault::SortedByWords) => fortunes.sort_by_key(|(_, message)| message.to_lowercase()),
            Some(Fault::SortedByUnits) => {
                fortunes.sort_by_key(|(_, message)| message.encode_utf16().collect::<Vec<_>>());
            }
            Some(Fault::SortedDown) => fortunes.sort_by(|left, right| right.1.cmp(&left.1)),
            _ => fortunes.sort_by(|left, right| left.1.cmp(&right.1)),
        }
        Ok(fortunes)
    }

    fn written(&self, fortunes: &[(i32, String)], nonce: &str) -> String {
        let rows: Vec<String> = fortunes
            .iter()
            .map(|(id, message)| {
                let message = self.shown(message, nonce);
                if self.is(Fault::SwapsCells) {
                    format!("<tr><td>{message}</td><td>{id}</td></tr>\n")
                } else {
                    format!("<tr><td>{id}</td><td>{message}</td></tr>\n")
                }
            })
            .collect();
        let title = if self.is(Fault::OtherTitle) {
            "Fortune"
        } else {
            "Fortunes"
        };
        let header = match self.fault {
            Some(Fault::NoHeader) => "",
            Some(Fault::HeaderOfCells) => "<tr><td>id</td><td>message</td></tr>\n",
            _ => "<tr><th>id</th><th>message</th></tr>\n",
        };
        format!(
            "<!DOCTYPE html>\n<html>\n<head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body><table>\n{header}{}</table></body>\n</html>\n",
            rows.concat()
        )
    }

    /// A message as it stands in the page.
    fn shown(&self, message: &str, nonce: &str) -> String {
        let without = |is_known: fn(char) -> bool| {
            let known = |letter| if is_known(letter) { letter } else { '?' };
            escaped(&message.chars().map(known).collect::<String>())
        };
        match self.fault {
            Some(Fault::Unescaped) => message.to_owned(),
            Some(Fault::EscapedTwice) => escaped(&escaped(message)),
            Some(Fault::LeavesAmpersands) => message.replace('<', "&lt;").replace('>', "&gt;"),
            Some(Fault::NonceUnescaped) => match message.split_once(nonce) {
                Some((before, after)) if before == "Additional fortune: " => {
                    format!("{before}{nonce}{after}")
                }
                _ => escaped(message),
            },
            Some(Fault::NoEmoji) => without(|letter| letter <= '\u{ffff}'),
            Some(Fault::NoJapanese) => without(|letter| letter <= '\u{ff}'),
            Some(Fault::RunsMessages) => escaped(&message.replace("{{ 1 + 1 }}", "2")),
            Some(Fault::RemovesTags) => escaped(&message.replace("<b>", "").replace("</b>", "")),
            _ => escaped(message),
        }
    }
}
