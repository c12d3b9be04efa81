package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

const (
	backendLimit = 10 * time.Second
	largestBody  = 16 << 20
)

// newRelay answers GET /nop itself and relays the rest, but for messages that are dropped or are no JSON.
func newRelay(backend *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { rewrite(r, backend) },
		Transport: newTransport(),
		// Otherwise each reply is copied through 32 KiB that are new.
		BufferPool: &buffers{},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			var failure net.Error
			if errors.As(err, &failure) && failure.Timeout() {
				http.Error(w, "the backend is too slow", http.StatusGatewayTimeout)
			} else {
				http.Error(w, "the backend cannot be reached", http.StatusBadGateway)
			}
		},
		// A client that leaves early is no news.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/nop" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			w.Header().Set("Content-Type", "text/plain")
			w.Write([]byte("OK"))
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
		if err != nil {
			http.Error(w, "the body is broken or too large", http.StatusBadRequest)
			return
		}
		if isJSON(r.Header) {
			var message any
			if json.Unmarshal(body, &message) != nil {
				http.Error(w, "the body is not JSON", http.StatusBadRequest)
				return
			}
			if isDropped(message) {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		// A connection that the backend has closed meanwhile is tried anew with the same body.
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		// Otherwise Go guesses a type where the backend gives none.
		w.Header()["Content-Type"] = nil
		proxy.ServeHTTP(w, r)
	})
}

// isDropped is the decision on a parsed message.
func isDropped(message any) bool {
	members, ok := message.(map[string]any)
	return ok && members["drop"] == true
}

func isJSON(header http.Header) bool {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return kind == "application/json"
}

// rewrite sends the request to the backend as it came: ReverseProxy leaves out the hop-by-hop headers.
func rewrite(r *httputil.ProxyRequest, backend *url.URL) {
	r.Out.URL.Scheme, r.Out.URL.Host = backend.Scheme, backend.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	// ReverseProxy takes these out for a proxy that writes its own.
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = values
		}
	}
}

func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: backendLimit}).DialContext,
		ResponseHeaderTimeout: backendLimit,
		// Every reply's connection is kept; the default keeps two.
		MaxIdleConnsPerHost: 16_384,
		IdleConnTimeout:     30 * time.Second,
		// A compressed reply goes back as it is.
		DisableCompression: true,
	}
}

// buffers keeps what replies are copied through.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if kept, ok := b.pool.Get().(*[]byte); ok {
		return *kept
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) {
	b.pool.Put(&buffer)
}
