// A server with gorilla/mux, the router of document 004, on net/http.
package main

import (
	"net/http"

	"github.com/gorilla/mux"
)

func main() {
	serve(routes())
}

func routes() http.Handler {
	router := mux.NewRouter()
	router.HandleFunc("/api/test", hello).Methods(http.MethodGet)
	router.HandleFunc("/api/count/{n}", numbers(countTo)).Methods(http.MethodGet)
	router.HandleFunc("/api/fib/{n}", numbers(fibonacci)).Methods(http.MethodGet)
	router.HandleFunc("/", snoop).Methods(http.MethodGet)
	router.HandleFunc("/ws/echo", echo).Methods(http.MethodGet)
	router.HandleFunc("/ws/room/{name}", func(w http.ResponseWriter, r *http.Request) {
		attend(w, r, mux.Vars(r)["name"])
	}).Methods(http.MethodGet)
	return router
}

func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("Hello, World!"))
}
