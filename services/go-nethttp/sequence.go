package main

import "net/http"

// numbers answers with what `compute` makes of {n}, or 400 for what is not an integer from 0 to largestN.
func numbers(compute func(int) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, ok := parseN(r.PathValue("n"))
		if !ok {
			http.Error(w, "n must be an integer from 0 to 10000", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		w.Write(compute(n))
	}
}
