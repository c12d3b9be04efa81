// A gateway to a language model with net/http and httputil.ReverseProxy.
package main

import (
	"log"
	"net/url"
	"os"
)

func main() {
	model, err := url.Parse(os.Getenv("MODEL_URL"))
	if err != nil || model.Host == "" {
		log.Fatal("MODEL_URL must name the model, like http://127.0.0.1:9000/v1")
	}
	serve(newGateway(model, os.Getenv("MODEL_KEY")))
}
