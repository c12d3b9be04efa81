// A server of the Go standard library: net/http with its own ServeMux.
package main

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

func main() {
	serve(routes())
}

func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/test", hello)
	mux.HandleFunc("GET /api/count/{n}", numbers(countTo))
	mux.HandleFunc("GET /api/fib/{n}", numbers(fibonacci))
	mux.HandleFunc("GET /person", listPersons)
	mux.HandleFunc("GET /person/{id}", getPerson)
	mux.HandleFunc("GET /person/{id}/links", getPersonLinks)
	mux.HandleFunc("POST /person", createPerson)
	mux.HandleFunc("GET /{$}", snoop)
	mux.Handle("GET /catalog", gzhttp.GzipHandler(http.HandlerFunc(catalog)))
	mux.HandleFunc("POST /upload", upload)
	mux.HandleFunc("GET /events", events)
	mux.HandleFunc("GET /ws/echo", echo)
	mux.HandleFunc("GET /ws/room/{name}", func(w http.ResponseWriter, r *http.Request) {
		attend(w, r, r.PathValue("name"))
	})
	return mux
}

func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("Hello, World!"))
}
