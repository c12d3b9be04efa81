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
)

// What requests in flight get to end after SIGTERM.
const grace = 2 * time.Second

// serve answers with the handler on HOST and PORT, on WORKERS CPUs, until SIGTERM; on TLS_PORT too, if there is one.
func serve(handler http.Handler) {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	host := cmp.Or(os.Getenv("HOST"), "127.0.0.1")
	server := &http.Server{
		Addr:    net.JoinHostPort(host, cmp.Or(os.Getenv("PORT"), "8080")),
		Handler: handler,
	}

	stopped := make(chan struct{})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		server.Shutdown(ending)
		close(stopped)
	}()

	if port := os.Getenv("TLS_PORT"); port != "" {
		go serveTLS(server, net.JoinHostPort(host, port))
	}
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	<-stopped
}

// serveTLS answers with the same handler in HTTP/2 or HTTP/1.1, as the client prefers.
func serveTLS(server *http.Server, address string) {
	listener, err := net.Listen("tcp", address)
	if err == nil {
		err = server.ServeTLS(listener, os.Getenv("TLS_CERT"), os.Getenv("TLS_KEY"))
	}
	if !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
