package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// newGateway relays the two operations to the model, with the model's key in place of the client's.
func newGateway(model *url.URL, key string) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(model)
			r.Out.Header.Set("Authorization", "Bearer "+key)
		},
		Transport: newTransport(),
		// Otherwise each reply is copied through 32 KiB that are new. Event streams are flushed at each read.
		BufferPool: &buffers{},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, `{"error":{"message":"the model cannot be reached","type":"server_error"}}`)
		},
		// Clients that leave early are common.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	relay := http.StripPrefix("/v1", proxy)
	mux := http.NewServeMux()
	mux.Handle("POST /v1/chat/completions", relay)
	mux.Handle("GET /v1/models", relay)
	return mux
}

func newTransport() *http.Transport {
	return &http.Transport{
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		// Every reply's connection is kept; the default keeps two.
		MaxIdleConnsPerHost: 16_384,
		IdleConnTimeout:     30 * time.Second,
		// A compressed reply is relayed unchanged.
		DisableCompression: true,
	}
}

// buffers keeps the buffers through which replies are copied.
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
