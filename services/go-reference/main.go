// All contracts in one server, HTTP/1.1 and gRPC on the same port: the proof that they can be fulfilled.
package main

import (
	"cmp"
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"go-reference/personpb"
)

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Addr:      net.JoinHostPort(cmp.Or(os.Getenv("HOST"), "127.0.0.1"), cmp.Or(os.Getenv("PORT"), "8080")),
		Handler:   newHandler(os.Getenv("BACKEND_URL")),
		Protocols: protocols,
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

// newHandler gives gRPC calls to grpc-go, the paths of the other contracts to their handlers and, where there is
// a backend, every other request to the relay.
func newHandler(backend string) http.Handler {
	calls := grpc.NewServer()
	personpb.RegisterPersonServiceServer(calls, &personService{})
	requests := newMux()
	var relay http.Handler = requests
	if backend != "" {
		address, err := url.Parse(backend)
		if err != nil || address.Host == "" {
			log.Fatal("BACKEND_URL must name the backend, like http://127.0.0.1:9000")
		}
		relay = newRelay(address)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			calls.ServeHTTP(w, r)
		} else if _, pattern := requests.Handler(r); pattern != "" {
			requests.ServeHTTP(w, r)
		} else {
			relay.ServeHTTP(w, r)
		}
	})
}

func newMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/test", hello)
	mux.HandleFunc("GET /api/count/{n}", numbers(countTo))
	mux.HandleFunc("GET /api/fib/{n}", numbers(fibonacci))
	mux.HandleFunc("GET /person", listPersons)
	mux.HandleFunc("GET /person/{id}", getPerson)
	mux.HandleFunc("GET /person/{id}/links", getPersonLinks)
	mux.HandleFunc("POST /person", createPerson)
	mux.HandleFunc("GET /{$}", snoop)
	mux.HandleFunc("GET /catalog", catalog)
	mux.HandleFunc("POST /upload", upload)
	mux.HandleFunc("GET /events", events)
	return mux
}

func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("Hello, World!"))
}
