// A server of the Model Context Protocol with its official SDK for Go.
package main

import (
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	server := newServer()
	handler := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless:    os.Getenv("SESSIONS") != "true",
			JSONResponse: os.Getenv("REPLIES") != "events",
		},
	)
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.NewCrossOriginProtection().Handler(handler))
	serve(mux)
}
