package main

import (
	"math/big"
	"strconv"
)

const largestN = 10_000

// parseN reads an integer from 0 to largestN.
func parseN(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil && n <= largestN
}

// countTo gives the integers from 1 to n, joined with a space.
func countTo(n int) []byte {
	body := make([]byte, 0, 6*n)
	for i := 1; i <= n; i++ {
		if i > 1 {
			body = append(body, ' ')
		}
		body = strconv.AppendInt(body, int64(i), 10)
	}
	return body
}

// fibonacci gives F(0) to F(n), joined with a space.
func fibonacci(n int) []byte {
	body := []byte{'0'}
	a, b := big.NewInt(0), big.NewInt(1)
	for range n {
		body = append(body, ' ')
		body = b.Append(body, 10)
		a.Add(a, b)
		a, b = b, a
	}
	return body
}
