package main

import (
	"bytes"
	"slices"
)

const selectFortunes = "select id, message from fortune"

const (
	pageBegins = "<!DOCTYPE html>\n<html>\n<head><title>Fortunes</title></head>\n<body>\n<table>\n<tr><th>id</th><th>message</th></tr>\n"
	pageEnds   = "</table>\n</body>\n</html>\n"
)

type Fortune struct {
	id, message []byte
}

// fortunes is a page with all fortunes and one more, sorted by message.
func (s Shop) fortunes(request *Request, reply *Reply) error {
	nonce, given := request.parameter("nonce")
	if !given || nonce == "" {
		reply.begin(malformed)
		return nil
	}
	fortunes := append(make([]Fortune, 0, 256), Fortune{[]byte("0"), []byte("Additional fortune: " + nonce)})
	// The columns of a row are gone with the next one. What was appended before stays where it is when this grows.
	texts := make([]byte, 0, 16<<10)
	keep := func(text []byte) []byte {
		begin := len(texts)
		texts = append(texts, text...)
		return texts[begin:]
	}
	err := s.pool.use(func(c *Connection) error {
		_, err := c.ask(Query{selectFortunes, nil, func(columns [][]byte) {
			fortunes = append(fortunes, Fortune{keep(columns[0]), keep(columns[1])})
		}})
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(fortunes, func(a, b Fortune) int { return bytes.Compare(a.message, b.message) })

	reply.begin(ok)
	reply.kind = "text/html; charset=utf-8"
	page := append(reply.body, pageBegins...)
	for _, fortune := range fortunes {
		page = append(append(page, "<tr><td>"...), fortune.id...)
		page = appendHTML(append(page, "</td><td>"...), fortune.message)
		page = append(page, "</td></tr>\n"...)
	}
	reply.body = append(page, pageEnds...)
	return nil
}

// appendHTML writes a text so that nothing in it is markup.
func appendHTML(out, text []byte) []byte {
	begin := 0
	for i, character := range text {
		var escaped string
		switch character {
		case '&':
			escaped = "&amp;"
		case '<':
			escaped = "&lt;"
		case '>':
			escaped = "&gt;"
		case '"':
			escaped = "&quot;"
		case '\'':
			escaped = "&#39;"
		default:
			continue
		}
		out = append(append(out, text[begin:i]...), escaped...)
		begin = i + 1
	}
	return append(out, text[begin:]...)
}
