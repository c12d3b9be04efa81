use std::fmt::Write;

use html_escape::encode_quoted_attribute;
use hyper::header::HeaderMap;

pub fn page(headers: &HeaderMap) -> String {
    let mut page = String::from("<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><pre>\n");
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let (name, value) = (
            encode_quoted_attribute(name.as_str()),
            encode_quoted_attribute(&value),
        );
        writeln!(page, "HEADER: {name} = {value}").expect("a string can be written to");
    }
    page.push_str("</pre></body></html>\n");
    page
}
