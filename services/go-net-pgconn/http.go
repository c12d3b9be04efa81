package main

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
)

const (
	longestHead = 16 << 10
	longestBody = 1 << 20
)

// Replies to what is no request of ours; the connection is closed after them.
const (
	malformed    = "400 Bad Request"
	tooLarge     = "413 Content Too Large"
	headTooLarge = "431 Request Header Fields Too Large"
	unknownCode  = "501 Not Implemented"
)

// Request is what the routes look at.
type Request struct {
	method, path, query, ifMatch string
	body                         []byte
	close                        bool
}

// parse reads a whole request from the beginning of the bytes and tells how many it took: 0 where more must come.
func parse(in []byte) (request Request, used int, refusal string) {
	end := bytes.Index(in, []byte("\r\n\r\n"))
	if end > longestHead || end < 0 && len(in) > longestHead {
		return request, 0, headTooLarge
	}
	if end < 0 {
		return request, 0, ""
	}
	line, headers, _ := strings.Cut(string(in[:end]), "\r\n")
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	if method == "" || len(version) != 8 || !strings.HasPrefix(version, "HTTP/1.") {
		return request, 0, malformed
	}
	request.method = method
	request.path, request.query, _ = strings.Cut(target, "?")
	request.close = version == "HTTP/1.0"
	length, chunked, refusal := request.readHeaders(headers)
	if refusal != "" {
		return request, 0, refusal
	}
	end += len("\r\n\r\n")
	if chunked {
		request.body, used, refusal = unchunk(in[end:])
		if used == 0 || refusal != "" {
			return request, 0, refusal
		}
		return request, end + used, ""
	}
	if len(in) < end+length {
		return request, 0, ""
	}
	request.body = in[end : end+length]
	return request, end + length, ""
}

// readHeaders keeps what the routes need and gives how the body is delivered.
func (r *Request) readHeaders(headers string) (length int, chunked bool, refusal string) {
	for headers != "" {
		var line string
		line, headers, _ = strings.Cut(headers, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			return 0, false, malformed
		}
		switch len(name) {
		case len("If-Match"):
			if strings.EqualFold(name, "If-Match") {
				r.ifMatch = strings.TrimSpace(value)
			}
		case len("Connection"):
			if strings.EqualFold(name, "Connection") {
				value = strings.TrimSpace(value)
				r.close = strings.EqualFold(value, "close") || r.close && !strings.EqualFold(value, "keep-alive")
			}
		case len("Content-Length"):
			if strings.EqualFold(name, "Content-Length") {
				count, err := strconv.ParseUint(strings.TrimSpace(value), 10, 63)
				if err != nil {
					return 0, false, malformed
				}
				if count > longestBody {
					return 0, false, tooLarge
				}
				length = int(count)
			}
		case len("Transfer-Encoding"):
			if strings.EqualFold(name, "Transfer-Encoding") {
				if !strings.EqualFold(strings.TrimSpace(value), "chunked") {
					return 0, false, unknownCode
				}
				chunked = true
			}
		}
	}
	return length, chunked, ""
}

// unchunk gives a body out of its chunks and how many bytes they were: 0 where more must come.
func unchunk(in []byte) (body []byte, used int, refusal string) {
	for {
		line, rest, whole := bytes.Cut(in[used:], []byte("\r\n"))
		if !whole {
			return nil, 0, ""
		}
		digits, _, _ := strings.Cut(string(line), ";")
		size, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 63)
		if err != nil {
			return nil, 0, malformed
		}
		if size+uint64(len(body)) > longestBody {
			return nil, 0, tooLarge
		}
		if size == 0 {
			// Trailers, up to an empty line.
			end := bytes.Index(in[used:], []byte("\r\n\r\n"))
			if end < 0 {
				return nil, 0, ""
			}
			return body, used + end + len("\r\n\r\n"), ""
		}
		if uint64(len(rest)) < size+2 {
			return nil, 0, ""
		}
		body = append(body, rest[:size]...)
		used += len(line) + 2 + int(size) + 2
	}
}

// parameter gives the first value of a name in the query, decoded, and whether there is one.
func (r *Request) parameter(wanted string) (string, bool) {
	for query := r.query; query != ""; {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if name, value, _ := strings.Cut(pair, "="); name == wanted {
			value, err := url.QueryUnescape(value)
			return value, err == nil
		}
	}
	return "", false
}

// Reply is made anew for each request in the same memory.
type Reply struct {
	status, kind string
	// Further headers, each with its end of line.
	headers []byte
	body    []byte
	close   bool
	out     []byte
}

// begin gives the reply a status and no body.
func (r *Reply) begin(status string) {
	r.status, r.kind = status, "text/plain"
	r.headers, r.body = r.headers[:0], r.body[:0]
}

func (r *Reply) bytes() []byte {
	out := append(append(r.out[:0], "HTTP/1.1 "...), r.status...)
	if r.close {
		out = append(out, "\r\nConnection: close"...)
	}
	if r.status != noContent {
		out = append(append(out, "\r\nContent-Type: "...), r.kind...)
		out = strconv.AppendInt(append(out, "\r\nContent-Length: "...), int64(len(r.body)), 10)
	}
	out = append(append(out, "\r\n"...), r.headers...)
	r.out = append(append(out, "\r\n"...), r.body...)
	return r.out
}
