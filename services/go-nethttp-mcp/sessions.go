package main

import (
	"crypto/rand"
	"net/http"
	"sync"
)

const sessionRevision = "2025-06-18"

// The ids of the open sessions.
var sessions sync.Map

func answerInSession(w http.ResponseWriter, r *http.Request) {
	request, failure, ok := read(w, r)
	if !ok {
		return
	}
	var result any
	switch {
	case failure != nil:
	case request.Method == "initialize":
		id := rand.Text()
		sessions.Store(id, true)
		w.Header().Set("Mcp-Session-Id", id)
		result = object{"protocolVersion": sessionRevision, "capabilities": capabilities, "serverInfo": serverInfo}
	case !inSession(w, r):
		return
	case request.ID == nil:
		w.WriteHeader(http.StatusAccepted) // a notification
		return
	default:
		result, failure = request.run()
	}
	write(w, response{Version: "2.0", ID: request.ID, Result: result, Error: failure})
}

func endSession(w http.ResponseWriter, r *http.Request) {
	if inSession(w, r) {
		sessions.Delete(r.Header.Get("Mcp-Session-Id"))
		w.WriteHeader(http.StatusNoContent)
	}
}

// inSession refuses a request whose headers name no open session.
func inSession(w http.ResponseWriter, r *http.Request) bool {
	if revision := r.Header.Get("MCP-Protocol-Version"); revision != "" && revision != sessionRevision {
		http.Error(w, "unsupported MCP-Protocol-Version", http.StatusBadRequest)
		return false
	}
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		http.Error(w, "Mcp-Session-Id is missing", http.StatusBadRequest)
		return false
	}
	if _, open := sessions.Load(id); !open {
		http.Error(w, "no such session", http.StatusNotFound)
		return false
	}
	return true
}
