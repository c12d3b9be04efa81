package main

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

func catalog(c *gin.Context) {
	items, ok := parseItems(c.Request.URL.Query())
	if !ok {
		c.String(http.StatusBadRequest, "from must be an integer from 1 to 1000000, count one from 1 to 500")
		return
	}
	c.JSON(http.StatusOK, items)
}
