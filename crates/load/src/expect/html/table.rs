//! A page with one table: its title, its header row and its rows in order, compared by visible text.

use crate::Template;
use crate::expect::{Memory, Mismatch, excerpt};
use html5gum::{DefaultEmitter, Token, Tokenizer};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// An HTML page with one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HtmlTable {
    /// The page's title; absent: any title.
    #[serde(default)]
    pub title: Option<String>,
    /// The cells of the header row.
    pub header: Vec<String>,
    /// The rows that are the same for every request.
    pub rows: Vec<Vec<String>>,
    /// The rows that depend on the request.
    #[serde(default)]
    pub more: Vec<Vec<Template>>,
    /// The index of the column by which the rows are sorted, by code points; absent: in the order given.
    #[serde(default)]
    pub sort: Option<usize>,
}

#[derive(Debug, Clone)]
pub(in crate::expect) struct CompiledTable {
    table: HtmlTable,
}

/// The parts of a page that are compared.
#[derive(Default)]
struct Page {
    title: Vec<u8>,
    tables: usize,
    /// The rows; for each cell, whether it is a header cell, and its text.
    rows: Vec<Vec<(bool, Vec<u8>)>>,
    /// An element inside a cell, which shows that text was not escaped: its name and the text before it.
    inside: Option<(Vec<u8>, String)>,
}

impl CompiledTable {
    pub(in crate::expect) fn new(table: &HtmlTable) -> Self {
        let mut table = table.clone();
        if let Some(column) = table.sort {
            table
                .rows
                .sort_by(|left, right| left.get(column).cmp(&right.get(column)));
        }
        Self { table }
    }

    pub(in crate::expect) fn judge(
        &self,
        body: &[u8],
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        let page = Page::read(body);
        if let Some(title) = &self.table.title
            && page.title.trim_ascii() != title.as_bytes()
        {
            return Err(Mismatch::new("body: the title", title, excerpt(&page.title)));
        }
        if page.tables != 1 {
            let got = format!("{} in {}", page.tables, excerpt(body));
            return Err(Mismatch::new("body: tables", "1", got));
        }
        let header: Vec<Cow<'_, [u8]>> = self
            .table
            .header
            .iter()
            .map(|cell| cell.as_bytes().into())
            .collect();
        let mut rows = page.rows.iter();
        same_row("header row", &header, rows.next(), true)?;
        let wanted = self.wanted(memory, value);
        for (place, wanted) in wanted.iter().enumerate() {
            same_row(&format!("row {}", place + 1), wanted, rows.next(), false)?;
        }
        if let Some(more) = rows.next() {
            let got = format!("{}: {}", page.rows.len() - 1, row_text(more));
            return Err(Mismatch::new("body: rows", wanted.len().to_string(), got));
        }
        match page.inside {
            None => Ok(()),
            Some((name, text)) => Err(Mismatch::new(
                "body: not escaped for HTML",
                "only text in each cell",
                format!("<{}> after `{text}`", String::from_utf8_lossy(&name)),
            )),
        }
    }

    /// All expected rows in order.
    fn wanted<'a>(
        &'a self,
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Vec<Vec<Cow<'a, [u8]>>> {
        let mut rows: Vec<Vec<Cow<'a, [u8]>>> = self
            .table
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.as_bytes().into()).collect())
            .collect();
        for more in &self.table.more {
            let row: Vec<Cow<'a, [u8]>> = more
                .iter()
                .map(|cell| memory.render(cell, value).to_vec().into())
                .collect();
            let place = match self.table.sort {
                None => rows.len(),
                Some(column) => rows.partition_point(|other| other.get(column) <= row.get(column)),
            };
            rows.insert(place, row);
        }
        rows
    }
}

fn same_row(
    at: &str,
    wanted: &[Cow<'_, [u8]>],
    got: Option<&Vec<(bool, Vec<u8>)>>,
    is_header: bool,
) -> Result<(), Mismatch> {
    let right = got.is_some_and(|got| {
        got.len() == wanted.len()
            && got.iter().zip(wanted).all(|((header, cell), wanted)| {
                *header == is_header && cell.trim_ascii() == wanted.trim_ascii()
            })
    });
    if right {
        return Ok(());
    }
    let wanted: Vec<(bool, Vec<u8>)> = wanted.iter().map(|cell| (is_header, cell.to_vec())).collect();
    let got = got.map_or_else(|| "no such row".to_owned(), |got| row_text(got));
    Err(Mismatch::new(format!("body: {at}"), row_text(&wanted), got))
}

fn row_text(cells: &[(bool, Vec<u8>)]) -> String {
    let cell = |(header, text): &(bool, Vec<u8>)| {
        let tag = if *header { "th" } else { "td" };
        format!("<{tag}> {}", excerpt(text.trim_ascii()))
    };
    cells.iter().map(cell).collect::<Vec<_>>().join(" ")
}

impl Page {
    fn read(body: &[u8]) -> Self {
        let mut page = Self::default();
        let mut emitter = DefaultEmitter::default();
        // Parse like a browser: the content of scripts and titles is text.
        emitter.naively_switch_states(true);
        let (mut in_title, mut in_cell) = (false, false);
        for token in Tokenizer::new_with_emitter(body, emitter) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) => match tag.name.as_slice() {
                    b"title" if !in_cell => in_title = true,
                    b"table" => {
                        page.tables += 1;
                        in_cell = false;
                    }
                    b"tr" => {
                        page.rows.push(Vec::new());
                        in_cell = false;
                    }
                    name @ (b"th" | b"td") => {
                        let row = page.rows.last_mut();
                        if let Some(row) = row {
                            row.push((name == b"th", Vec::new()));
                        }
                        in_cell = true;
                    }
                    name if in_cell && page.inside.is_none() => {
                        let text = page.cell().map_or_else(String::new, |cell| excerpt(cell));
                        page.inside = Some((name.to_vec(), text));
                    }
                    _ => {}
                },
                Token::EndTag(tag) => match tag.name.as_slice() {
                    b"title" => in_title = false,
                    b"td" | b"th" | b"tr" | b"table" => in_cell = false,
                    _ => {}
                },
                Token::String(text) if in_title => page.title.extend_from_slice(&text),
                Token::String(text) if in_cell => {
                    if let Some(cell) = page.cell() {
                        cell.extend_from_slice(&text);
                    }
                }
                _ => {}
            }
        }
        page
    }

    /// The cell being read.
    fn cell(&mut self) -> Option<&mut Vec<u8>> {
        let (_, cell) = self.rows.last_mut()?.last_mut()?;
        Some(cell)
    }
}
