package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// The longest body, bytes.
const longestUpload = 20 << 20

func upload(w http.ResponseWriter, r *http.Request) {
	digest := sha256.New()
	// It closes the connection where a body is too long.
	bytes, err := io.Copy(digest, http.MaxBytesReader(w, r.Body, longestUpload))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		http.Error(w, "more than 20 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return
	}
	body, err := json.Marshal(map[string]any{"bytes": bytes, "sha256": hex.EncodeToString(digest.Sum(nil))})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}
