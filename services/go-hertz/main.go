// A server with Hertz on its own network library, netpoll.
package main

import (
	"cmp"
	"context"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/cloudwego/hertz/pkg/protocol/consts"
)

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	// No line per route when it starts, and none per request.
	hlog.SetLevel(hlog.LevelFatal)
	h := server.New(
		server.WithHostPorts(net.JoinHostPort(cmp.Or(os.Getenv("HOST"), "127.0.0.1"), cmp.Or(os.Getenv("PORT"), "8080"))),
		// A path is exact in the contracts.
		server.WithRedirectTrailingSlash(false),
		// What requests in flight get to end after SIGTERM.
		server.WithExitWaitTime(2*time.Second),
	)
	h.GET("/api/test", hello)
	h.GET("/api/count/:n", numbers(countTo))
	h.GET("/api/fib/:n", numbers(fibonacci))
	// By default only SIGINT and SIGHUP let requests end.
	h.SetCustomSignalWaiter(terminated)
	h.Spin()
}

func terminated(failed chan error) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	select {
	case <-signals:
		return nil
	case err := <-failed:
		return err
	}
}

func hello(_ context.Context, c *app.RequestContext) {
	c.String(consts.StatusOK, "Hello, World!")
}

// numbers answers with what `compute` makes of :n, or 400 for what is not an integer from 0 to largestN.
func numbers(compute func(int) []byte) app.HandlerFunc {
	return func(_ context.Context, c *app.RequestContext) {
		n, ok := parseN(c.Param("n"))
		if !ok {
			c.String(consts.StatusBadRequest, "n must be an integer from 0 to 10000")
			return
		}
		c.Data(consts.StatusOK, "text/plain", compute(n))
	}
}
