package main

import (
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// Messages queued for a slow member; if the queue is full, the member is dropped.
const queueLength = 256

type member struct {
	connection *websocket.Conn
	queue      chan *websocket.PreparedMessage
}

// room has its members. A sender holds the lock, so that all members receive messages in the same order.
type room struct {
	sync.Mutex
	members map[*member]struct{}
}

var rooms = struct {
	sync.Mutex
	byName map[string]*room
}{byName: map[string]*room{}}

func enter(name string, m *member) *room {
	rooms.Lock()
	defer rooms.Unlock()
	r := rooms.byName[name]
	if r == nil {
		r = &room{members: map[*member]struct{}{}}
		rooms.byName[name] = r
	}
	r.Lock()
	defer r.Unlock()
	r.members[m] = struct{}{}
	return r
}

func (r *room) leave(name string, m *member) {
	rooms.Lock()
	defer rooms.Unlock()
	r.Lock()
	defer r.Unlock()
	delete(r.members, m)
	close(m.queue)
	if len(r.members) == 0 {
		delete(rooms.byName, name)
	}
}

func (r *room) say(message *websocket.PreparedMessage) {
	r.Lock()
	defer r.Unlock()
	for m := range r.members {
		select {
		case m.queue <- message:
		default:
			m.connection.Close() // the member reads too slowly
		}
	}
}

// attend joins a client to a room: its messages go to all members, including itself.
func attend(w http.ResponseWriter, r *http.Request, name string) {
	if name == "" {
		http.NotFound(w, r)
		return
	}
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the client has received an error reply
	}
	defer connection.Close()
	connection.SetReadLimit(longestMessage)
	m := &member{connection, make(chan *websocket.PreparedMessage, queueLength)}
	here := enter(name, m)
	defer here.leave(name, m)
	go m.write()
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
		prepared, err := websocket.NewPreparedMessage(kind, message)
		if err != nil {
			return
		}
		here.say(prepared)
	}
}

// write sends queued messages until the member has left.
func (m *member) write() {
	for message := range m.queue {
		if m.connection.WritePreparedMessage(message) != nil {
			m.connection.Close()
		}
	}
}
