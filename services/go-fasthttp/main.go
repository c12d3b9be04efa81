// A server with valyala/fasthttp.
package main

import (
	"cmp"
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	server := &fasthttp.Server{
		Handler: route,
		// A hundred headers do not fit in the 4 KiB that are the default.
		ReadBufferSize: 64 << 10,
		// So that a stop need not wait for clients that keep their connection open.
		CloseOnShutdown: true,
		// By default each broken request is logged.
		Logger: log.New(noLog{}, "", 0),
	}

	stopped := make(chan struct{})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() {
		<-ctx.Done()
		// Requests in flight get two seconds to end.
		grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		server.ShutdownWithContext(grace)
		close(stopped)
	}()

	host := cmp.Or(os.Getenv("HOST"), "127.0.0.1")
	if port := os.Getenv("TLS_PORT"); port != "" {
		go func() {
			address := net.JoinHostPort(host, port)
			if err := server.ListenAndServeTLS(address, os.Getenv("TLS_CERT"), os.Getenv("TLS_KEY")); err != nil {
				log.Fatal(err)
			}
		}()
	}
	if err := server.ListenAndServe(net.JoinHostPort(host, cmp.Or(os.Getenv("PORT"), "8080"))); err != nil {
		log.Fatal(err)
	}
	<-stopped
}

func route(ctx *fasthttp.RequestCtx) {
	if !ctx.IsGet() && !ctx.IsHead() {
		ctx.Error("only GET", fasthttp.StatusMethodNotAllowed)
		return
	}
	path := string(ctx.Path())
	if path == "/api/test" {
		hello(ctx)
	} else if n, ok := strings.CutPrefix(path, "/api/count/"); ok {
		numbers(ctx, n, countTo)
	} else if n, ok := strings.CutPrefix(path, "/api/fib/"); ok {
		numbers(ctx, n, fibonacci)
	} else if path == "/" {
		snoop(ctx)
	} else {
		ctx.Error("no such path", fasthttp.StatusNotFound)
	}
}

var greeting = []byte("Hello, World!")

func hello(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("text/plain")
	ctx.Response.SetBodyRaw(greeting)
}

type noLog struct{}

func (noLog) Write(line []byte) (int, error) { return len(line), nil }
