// A server with chi on net/http.
package main

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

func main() {
	serve(routes())
}

func routes() http.Handler {
	router := chi.NewRouter()
	router.Use(decoded)
	router.Get("/api/test", hello)
	router.Get("/api/count/{n}", numbers(countTo))
	router.Get("/api/fib/{n}", numbers(fibonacci))
	router.Get("/", snoop)
	return router
}

// chi compares paths as they were sent, but /api/%74est names the same resource as /api/test.
func decoded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.RawPath = ""
		next.ServeHTTP(w, r)
	})
}

func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("Hello, World!"))
}

// numbers answers with what `compute` makes of {n}, or 400 for what is not an integer from 0 to largestN.
func numbers(compute func(int) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, ok := parseN(chi.URLParam(r, "n"))
		if !ok {
			http.Error(w, "n must be an integer from 0 to 10000", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		w.Write(compute(n))
	}
}
