package main

import (
	"fmt"
	"html"
	"strings"

	"github.com/valyala/fasthttp"
)

func snoop(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.WriteString("<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><pre>\n")
	for name, value := range ctx.Request.Header.All() {
		fmt.Fprintf(ctx, "HEADER: %s = %s\n", html.EscapeString(strings.ToLower(string(name))), html.EscapeString(string(value)))
	}
	ctx.WriteString("</pre></body></html>\n")
}
