package main

import (
	"math/big"
	"net/http"
	"strconv"
)

const largestN = 10_000

// parseN reads {n}; what is not an integer from 0 to largestN is answered with 400.
func parseN(w http.ResponseWriter, r *http.Request) (int, bool) {
	n, err := strconv.ParseUint(r.PathValue("n"), 10, 16)
	if err != nil || n > largestN {
		http.Error(w, "n must be an integer from 0 to 10000", http.StatusBadRequest)
		return 0, false
	}
	return int(n), true
}

func count(w http.ResponseWriter, r *http.Request) {
	n, ok := parseN(w, r)
	if !ok {
		return
	}
	body := make([]byte, 0, 6*n)
	for i := 1; i <= n; i++ {
		if i > 1 {
			body = append(body, ' ')
		}
		body = strconv.AppendInt(body, int64(i), 10)
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Write(body)
}

func fib(w http.ResponseWriter, r *http.Request) {
	n, ok := parseN(w, r)
	if !ok {
		return
	}
	body := []byte{'0'}
	a, b := big.NewInt(0), big.NewInt(1)
	for range n {
		body = append(body, ' ')
		body = b.Append(body, 10)
		a.Add(a, b)
		a, b = b, a
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Write(body)
}
