package main

import (
	"math/big"
	"strconv"

	"github.com/valyala/fasthttp"
)

const largestN = 10_000

// parseN reads n; what is not an integer from 0 to largestN is answered with 400.
func parseN(ctx *fasthttp.RequestCtx, text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n > largestN {
		ctx.Error("n must be an integer from 0 to 10000", fasthttp.StatusBadRequest)
		return 0, false
	}
	return int(n), true
}

func count(ctx *fasthttp.RequestCtx, text string) {
	n, ok := parseN(ctx, text)
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
	ctx.SetContentType("text/plain")
	ctx.SetBody(body)
}

func fib(ctx *fasthttp.RequestCtx, text string) {
	n, ok := parseN(ctx, text)
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
	ctx.SetContentType("text/plain")
	ctx.SetBody(body)
}
