use std::fmt::Write;

use actix_web::web::Html;
use actix_web::{HttpRequest, get};
use html_escape::encode_quoted_attribute;

#[get("/")]
pub async fn snoop(request: HttpRequest) -> Html {
    let mut page = String::from("<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><pre>\n");
    for (name, value) in request.headers() {
        let value = String::from_utf8_lossy(value.as_bytes());
        let (name, value) = (
            encode_quoted_attribute(name.as_str()),
            encode_quoted_attribute(&value),
        );
        writeln!(page, "HEADER: {name} = {value}").expect("a string can be written to");
    }
    page.push_str("</pre></body></html>\n");
    Html::new(page)
}
