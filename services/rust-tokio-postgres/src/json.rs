use tokio_postgres::Row;

/// The members of an order, without its end.
pub struct Order<'a> {
    pub id: i64,
    pub customer: i32,
    pub status: &'a str,
    pub note: Option<&'a str>,
    pub total: i64,
    pub version: i32,
}

impl<'a> Order<'a> {
    pub fn from_row(row: &'a Row) -> Self {
        Self {
            id: row.get(0),
            customer: row.get(1),
            status: row.get(2),
            note: row.get(3),
            total: row.get(4),
            version: row.get(5),
        }
    }

    pub fn write(&self, out: &mut String) {
        out.push_str("{\"id\":");
        number(out, self.id);
        out.push_str(",\"customerId\":");
        number(out, self.customer);
        out.push_str(",\"status\":\"");
        out.push_str(self.status);
        out.push_str("\",\"note\":");
        match self.note {
            Some(note) => text(out, note),
            None => out.push_str("null"),
        }
        out.push_str(",\"totalCents\":");
        number(out, self.total);
        out.push_str(",\"version\":");
        number(out, self.version);
    }
}

/// The lines of an order (product, quantity, price) and its end.
pub fn lines(out: &mut String, lines: impl Iterator<Item = (i32, i32, i32)>) {
    out.push_str(",\"lines\":[");
    for (i, (product, quantity, price)) in lines.enumerate() {
        out.push_str(if i == 0 {
            "{\"productId\":"
        } else {
            ",{\"productId\":"
        });
        number(out, product);
        out.push_str(",\"quantity\":");
        number(out, quantity);
        out.push_str(",\"priceCents\":");
        number(out, price);
        out.push('}');
    }
    out.push_str("]}");
}

pub fn number(out: &mut String, number: impl itoa::Integer) {
    out.push_str(itoa::Buffer::new().format(number));
}

/// A text in quotes.
fn text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c < ' ' || c == '"' || c == '\\') {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        match special.as_bytes()[0] {
            byte @ (b'"' | b'\\') => out.extend(['\\', char::from(byte)]),
            byte => out.push_str(&format!("\\u{byte:04x}")),
        }
        rest = &special[1..];
    }
    out.push_str(rest);
    out.push('"');
}
