// A server with Gin on net/http.
package main

import (
	"net/http"

	"github.com/gin-contrib/gzip"
	"github.com/gin-gonic/gin"
)

func main() {
	// Gin's debug mode writes to the console and renders errors.
	gin.SetMode(gin.ReleaseMode)
	serve(routes())
}

func routes() http.Handler {
	// Without the logger of gin.Default: no line per request.
	router := gin.New()
	router.Use(gin.Recovery())
	// A path is exact in the contracts.
	router.RedirectTrailingSlash = false
	router.GET("/api/test", hello)
	router.GET("/api/count/:n", numbers(countTo))
	router.GET("/api/fib/:n", numbers(fibonacci))
	router.GET("/", gin.WrapF(snoop))
	router.GET("/catalog", gzip.Gzip(gzip.DefaultCompression), catalog)
	router.POST("/upload", upload)
	return router
}

func hello(c *gin.Context) {
	c.String(http.StatusOK, "Hello, World!")
}

// numbers answers with what `compute` makes of :n, or 400 for what is not an integer from 0 to largestN.
func numbers(compute func(int) []byte) gin.HandlerFunc {
	return func(c *gin.Context) {
		n, ok := parseN(c.Param("n"))
		if !ok {
			c.String(http.StatusBadRequest, "n must be an integer from 0 to 10000")
			return
		}
		c.Data(http.StatusOK, "text/plain", compute(n))
	}
}
