// A server with Iris on net/http.
package main

import (
	"log"

	"github.com/kataras/iris/v12"
)

func main() {
	app := routes()
	if err := app.Build(); err != nil {
		log.Fatal(err)
	}
	serve(app)
}

func routes() *iris.Application {
	app := iris.New()
	// A path is exact in the contracts.
	app.Configure(iris.WithoutPathCorrection)
	app.Get("/api/test", hello)
	app.Get("/api/count/{n}", numbers(countTo))
	app.Get("/api/fib/{n}", numbers(fibonacci))
	return app
}

func hello(ctx iris.Context) {
	ctx.Text("Hello, World!")
}

// numbers answers with what `compute` makes of {n}, or 400 for what is not an integer from 0 to largestN.
func numbers(compute func(int) []byte) iris.Handler {
	return func(ctx iris.Context) {
		n, ok := parseN(ctx.Params().Get("n"))
		if !ok {
			ctx.StopWithText(iris.StatusBadRequest, "n must be an integer from 0 to 10000")
			return
		}
		ctx.ContentType("text/plain")
		ctx.Write(compute(n))
	}
}
