package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
)

const largestUpload = 20 << 20

func upload(c *gin.Context) {
	hash := sha256.New()
	n, err := io.Copy(hash, http.MaxBytesReader(c.Writer, c.Request.Body, largestUpload))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		// MaxBytesReader cannot say so itself through Gin's writer.
		c.Header("Connection", "close")
		c.String(http.StatusRequestEntityTooLarge, "the body is larger than 20 MiB")
		return
	}
	if err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	c.JSON(http.StatusOK, gin.H{"bytes": n, "sha256": hex.EncodeToString(hash.Sum(nil))})
}
