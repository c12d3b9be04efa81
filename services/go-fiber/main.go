// A server with Fiber on fasthttp.
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
	"syscall"
	"time"

	"github.com/gofiber/fiber/v3"
)

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	address := net.JoinHostPort(cmp.Or(os.Getenv("HOST"), "127.0.0.1"), cmp.Or(os.Getenv("PORT"), "8080"))
	err := routes().Listen(address, fiber.ListenConfig{
		DisableStartupMessage: true,
		GracefulContext:       ctx,
		// What requests in flight get to end after SIGTERM.
		ShutdownTimeout: 2 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
}

func routes() *fiber.App {
	app := fiber.New(fiber.Config{
		// A path is exact in the contracts, and /api/%74est is /api/test.
		CaseSensitive: true,
		StrictRouting: true,
		UnescapePath:  true,
		// A hundred headers do not fit in the 4 KiB that are the default.
		ReadBufferSize: 64 << 10,
	})
	app.Get("/api/test", hello)
	app.Get("/api/count/:n", numbers(countTo))
	app.Get("/api/fib/:n", numbers(fibonacci))
	return app
}

func hello(c fiber.Ctx) error {
	return c.SendString("Hello, World!")
}

// numbers answers with what `compute` makes of :n, or 400 for what is not an integer from 0 to largestN.
func numbers(compute func(int) []byte) fiber.Handler {
	return func(c fiber.Ctx) error {
		n, ok := parseN(c.Params("n"))
		if !ok {
			return fiber.ErrBadRequest
		}
		c.Set(fiber.HeaderContentType, fiber.MIMETextPlain)
		return c.Send(compute(n))
	}
}
