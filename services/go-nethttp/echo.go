package main

import (
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

const longestMessage = 1 << 20

// Nothing is compressed unless it is asked to.
var upgrader websocket.Upgrader

// echo sends each message back. gorilla answers pings and closes; whether a text is one, it leaves to its users.
func echo(w http.ResponseWriter, r *http.Request) {
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the client has its answer
	}
	defer connection.Close()
	connection.SetReadLimit(longestMessage)
	for {
		kind, message, err := connection.ReadMessage()
		if err != nil {
			return
		}
		if kind == websocket.TextMessage && !utf8.Valid(message) {
			reason := websocket.FormatCloseMessage(websocket.CloseInvalidFramePayloadData, "a text that is not UTF-8")
			connection.WriteControl(websocket.CloseMessage, reason, time.Now().Add(time.Second))
			return
		}
		if connection.WriteMessage(kind, message) != nil {
			return
		}
	}
}
