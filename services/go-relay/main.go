// A filtering reverse proxy with net/http and httputil.ReverseProxy.
package main

import (
	"log"
	"net/url"
	"os"
)

func main() {
	backend, err := url.Parse(os.Getenv("BACKEND_URL"))
	if err != nil || backend.Host == "" {
		log.Fatal("BACKEND_URL must name the backend, like http://127.0.0.1:9000")
	}
	serve(newRelay(backend))
}
