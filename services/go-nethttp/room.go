package main

import (
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// Messages that wait for a member who reads slowly; with one more it is dropped.
const queueLength = 256

type member struct {
	connection *websocket.Conn
	queue      chan *websocket.PreparedMessage
}

// room has its members. Who says something holds the lock, so that all hear it in one order.
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
			m.connection.Close() // it reads too slowly
		}
	}
}

// attend has a client in a room: what it says goes to all members, itself included.
func attend(w http.ResponseWriter, r *http.Request, name string) {
	if name == "" {
		http.NotFound(w, r)
		return
	}
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the client has its answer
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

// write sends what waits, until the member has left.
func (m *member) write() {
	for message := range m.queue {
		if m.connection.WritePreparedMessage(message) != nil {
			m.connection.Close()
		}
	}
}
