// The least that a server in Go can do for orders and fortunes: sockets, and PostgreSQL's protocol as pgconn speaks it.
package main

import (
	"cmp"
	"errors"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// What requests in flight get to end after SIGTERM.
const grace = 2 * time.Second

// Requests that were read and not answered yet.
var underWay atomic.Int64

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	shop := Shop{newPool()}
	listener, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(os.Getenv("HOST"), "127.0.0.1"), cmp.Or(os.Getenv("PORT"), "8080")))
	if err != nil {
		log.Fatal(err)
	}
	go accept(listener, shop)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	<-stop
	listener.Close()
	for end := time.Now().Add(grace); underWay.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

func accept(listener net.Listener, shop Shop) {
	for {
		socket, err := listener.Accept()
		switch {
		case err == nil:
			go serve(socket, shop)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// Too many files are open, say; some may be closed soon.
			time.Sleep(time.Millisecond)
		}
	}
}

// serve answers the requests of a connection, one after the other.
func serve(socket net.Conn, shop Shop) {
	defer socket.Close()
	in := make([]byte, 0, 4096)
	var reply Reply
	for {
		request, used, refusal := parse(in)
		if refusal != "" {
			reply.begin(refusal)
			reply.close = true
			socket.Write(reply.bytes())
			return
		}
		if used == 0 {
			if len(in) == cap(in) {
				in = append(make([]byte, 0, 2*cap(in)), in...)
			}
			got, err := socket.Read(in[len(in):cap(in)])
			if err != nil {
				return
			}
			in = in[:len(in)+got]
			continue
		}
		underWay.Add(1)
		reply.close = request.close
		shop.answer(&request, &reply)
		_, err := socket.Write(reply.bytes())
		underWay.Add(-1)
		if err != nil || request.close {
			return
		}
		in = in[:copy(in, in[used:])]
	}
}
