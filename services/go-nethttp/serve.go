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

// serve answers with the handler on HOST and PORT, on WORKERS CPUs, until SIGTERM.
func serve(handler http.Handler) {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	server := &http.Server{
		Addr:    net.JoinHostPort(cmp.Or(os.Getenv("HOST"), "127.0.0.1"), cmp.Or(os.Getenv("PORT"), "8080")),
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

	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	<-stopped
}
