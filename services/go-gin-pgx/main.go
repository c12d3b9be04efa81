// A server with Gin on PostgreSQL, with pgx.
package main

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5/pgxpool"
)

func main() {
	// Gin's debug mode writes to the console and renders errors.
	gin.SetMode(gin.ReleaseMode)
	pool := connect()
	defer pool.Close()
	serve(routes(pool))
}

func routes(pool *pgxpool.Pool) http.Handler {
	// Without the logger of gin.Default: no line per request.
	router := gin.New()
	router.Use(gin.Recovery())
	// A path is exact in the contracts.
	router.RedirectTrailingSlash = false
	router.SetHTMLTemplate(fortunesPage)

	shop := Shop{OrderStore{pool}}
	router.POST("/orders", shop.create)
	router.GET("/orders", shop.list)
	router.GET("/orders/:id", shop.get)
	router.PATCH("/orders/:id", shop.setStatus)
	router.DELETE("/orders/:id", shop.delete)
	router.GET("/fortunes", fortunes(pool))
	return router
}

func fortunes(pool *pgxpool.Pool) gin.HandlerFunc {
	return func(c *gin.Context) {
		nonce := c.Query("nonce")
		if nonce == "" {
			c.String(http.StatusBadRequest, "nonce is missing")
			return
		}
		fortunes, err := readFortunes(c.Request.Context(), pool, nonce)
		if err != nil {
			refuse(c, err)
			return
		}
		c.HTML(http.StatusOK, "fortunes.html", fortunes)
	}
}
