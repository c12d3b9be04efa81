// A filtering reverse proxy with net/http and httputil.ReverseProxy.
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
	"syscall"
	"time"
)

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	backend, err := url.Parse(os.Getenv("BACKEND_URL"))
	if err != nil || backend.Host == "" {
		log.Fatal("BACKEND_URL must name the backend, like http://127.0.0.1:9000")
	}
	server := &http.Server{
		Addr:    net.JoinHostPort(cmp.Or(os.Getenv("HOST"), "127.0.0.1"), cmp.Or(os.Getenv("PORT"), "8080")),
		Handler: newRelay(backend),
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
