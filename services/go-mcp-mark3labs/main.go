// A server of the Model Context Protocol with mcp-go.
package main

import (
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/server"
)

func main() {
	// Without sessions nothing but POST has a meaning.
	mode, pattern := server.WithStateLess(true), "POST /mcp"
	if os.Getenv("SESSIONS") == "true" {
		mode, pattern = server.WithStateful(true), "/mcp"
	}
	handler := server.NewStreamableHTTPServer(newServer(), mode)
	mux := http.NewServeMux()
	mux.Handle(pattern, http.NewCrossOriginProtection().Handler(handler))
	serve(mux)
}
