package main

import (
	"fmt"
	"html"
	"net/http"
	"strings"
)

func snoop(w http.ResponseWriter, r *http.Request) {
	var page strings.Builder
	page.WriteString("<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><pre>\n")
	// net/http takes Host out of the headers.
	writeHeader(&page, "host", r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			writeHeader(&page, name, value)
		}
	}
	page.WriteString("</pre></body></html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(page.String()))
}

func writeHeader(page *strings.Builder, name, value string) {
	fmt.Fprintf(page, "HEADER: %s = %s\n", html.EscapeString(strings.ToLower(name)), html.EscapeString(value))
}
