use std::fmt::Write;

use html_escape::encode_quoted_attribute;
use iron::prelude::*;
use iron::{mime, status};

pub fn snoop(request: &mut Request) -> IronResult<Response> {
    let mut page = String::from("<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><pre>\n");
    for header in request.headers.iter() {
        let name = header.name().to_lowercase();
        // A header that is there twice has two raw values.
        for value in request.headers.get_raw(&name).unwrap_or_default() {
            let value = String::from_utf8_lossy(value);
            let (name, value) = (encode_quoted_attribute(&name), encode_quoted_attribute(&value));
            writeln!(page, "HEADER: {name} = {value}").expect("a string can be written to");
        }
    }
    page.push_str("</pre></body></html>\n");
    let utf_8 = vec![(mime::Attr::Charset, mime::Value::Utf8)];
    let html = mime::Mime(mime::TopLevel::Text, mime::SubLevel::Html, utf_8);
    Ok(Response::with((status::Ok, html, page)))
}
