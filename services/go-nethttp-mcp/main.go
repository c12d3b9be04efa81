// A server of the Model Context Protocol on net/http without an SDK: of revision 2026-07-28, or with sessions.
package main

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
)

const longestBody = 4 << 20

var hasSessions = os.Getenv("SESSIONS") == "true"

func main() {
	mux := http.NewServeMux()
	if hasSessions {
		mux.HandleFunc("POST /mcp", answerInSession)
		mux.HandleFunc("DELETE /mcp", endSession)
	} else {
		mux.HandleFunc("POST /mcp", answer)
	}
	serve(mux)
}

func answer(w http.ResponseWriter, r *http.Request) {
	request, failure, ok := read(w, r)
	if !ok {
		return
	}
	if failure == nil && request.ID == nil {
		w.WriteHeader(http.StatusAccepted) // a notification
		return
	}
	var result any
	if failure == nil {
		failure = request.check(r.Header)
	}
	if failure == nil {
		result, failure = request.run()
	}
	write(w, response{Version: "2.0", ID: request.ID, Result: result, Error: failure})
}

// read gives the request, or what is wrong with it; without ok it has been answered.
func read(w http.ResponseWriter, r *http.Request) (message request, failure *rpcError, ok bool) {
	if !localOrigin(r.Header.Get("Origin")) {
		http.Error(w, "foreign Origin", http.StatusForbidden)
		return
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longestBody))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusRequestEntityTooLarge)
		return
	}
	message, failure = parse(body)
	return message, failure, true
}

// localOrigin is true without Origin, too: only browsers send one.
func localOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	parsed, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := parsed.Hostname()
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func write(w http.ResponseWriter, reply response) {
	status := http.StatusOK
	if reply.Error != nil {
		status = http.StatusBadRequest
		if reply.Error.Code == methodNotFound {
			status = http.StatusNotFound
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(reply)
}
