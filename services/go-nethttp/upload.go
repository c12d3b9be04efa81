package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
)

const largestUpload = 20 << 20

type Receipt struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func upload(w http.ResponseWriter, r *http.Request) {
	hash := sha256.New()
	// MaxBytesReader also has the connection closed where it cuts a body off.
	n, err := io.Copy(hash, http.MaxBytesReader(w, r.Body, largestUpload))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		http.Error(w, "the body is larger than 20 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, Receipt{n, hex.EncodeToString(hash.Sum(nil))})
}
