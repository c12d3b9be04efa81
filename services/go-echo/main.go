// A server with Echo on net/http.
package main

import (
	"net/http"

	"github.com/labstack/echo/v5"
)

func main() {
	serve(routes())
}

func routes() http.Handler {
	server := echo.NewWithConfig(echo.Config{Router: echo.NewRouter(echo.RouterConfig{
		// /api/%74est names the same resource as /api/test.
		UseEscapedPathForMatching: true,
	})})
	server.GET("/api/test", hello)
	server.GET("/api/count/:n", numbers(countTo))
	server.GET("/api/fib/:n", numbers(fibonacci))
	server.GET("/", echo.WrapHandler(http.HandlerFunc(snoop)))
	return server
}

func hello(c *echo.Context) error {
	return c.String(http.StatusOK, "Hello, World!")
}

// numbers answers with what `compute` makes of :n, or 400 for what is not an integer from 0 to largestN.
func numbers(compute func(int) []byte) echo.HandlerFunc {
	return func(c *echo.Context) error {
		n, ok := parseN(c.Param("n"))
		if !ok {
			return c.String(http.StatusBadRequest, "n must be an integer from 0 to 10000")
		}
		return c.Blob(http.StatusOK, echo.MIMETextPlain, compute(n))
	}
}
