package main

import "github.com/valyala/fasthttp"

// numbers answers with what `compute` makes of n, or 400 for what is not an integer from 0 to largestN.
func numbers(ctx *fasthttp.RequestCtx, text string, compute func(int) []byte) {
	n, ok := parseN(text)
	if !ok {
		ctx.Error("n must be an integer from 0 to 10000", fasthttp.StatusBadRequest)
		return
	}
	ctx.SetContentType("text/plain")
	// Sent as it is; SetBody would copy it.
	ctx.Response.SetBodyRaw(compute(n))
}
