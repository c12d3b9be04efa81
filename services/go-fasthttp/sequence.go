package main

import "github.com/valyala/fasthttp"

// numbers replies with the result of `compute` for n, or 400 if it is not an integer from 0 to largestN.
func numbers(ctx *fasthttp.RequestCtx, text string, compute func(int) []byte) {
	n, ok := parseN(text)
	if !ok {
		ctx.Error("n must be an integer from 0 to 10000", fasthttp.StatusBadRequest)
		return
	}
	ctx.SetContentType("text/plain")
	// SetBody would copy the body.
	ctx.Response.SetBodyRaw(compute(n))
}
