// A server with gorilla/mux, the router of document 004, on net/http.
package main

import (
	"cmp"
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/gorilla/mux"
)

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	server := &http.Server{
		Addr:    net.JoinHostPort(cmp.Or(os.Getenv("HOST"), "127.0.0.1"), cmp.Or(os.Getenv("PORT"), "8080")),
		Handler: routes(),
		// A client that sends its headers for ever must not hold a connection.
		ReadHeaderTimeout: 10 * time.Second,
	}

	stopped := make(chan struct{})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() {
		<-ctx.Done()
		// Requests in flight get two seconds to end.
		grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		server.Shutdown(grace)
		close(stopped)
	}()

	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	<-stopped
}

func routes() http.Handler {
	router := mux.NewRouter()
	router.HandleFunc("/api/test", hello).Methods(http.MethodGet)
	router.HandleFunc("/api/count/{n}", count).Methods(http.MethodGet)
	router.HandleFunc("/api/fib/{n}", fib).Methods(http.MethodGet)
	router.HandleFunc("/", snoop).Methods(http.MethodGet)
	return router
}

func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("Hello, World!"))
}
