// The contracts person and stream over gRPC with grpc-go.
package main

import (
	"cmp"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"go-grpc/personpb"
	"go-grpc/streampb"
)

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil && workers > 0 {
		runtime.GOMAXPROCS(workers)
	}
	address := net.JoinHostPort(cmp.Or(os.Getenv("HOST"), "127.0.0.1"), cmp.Or(os.Getenv("PORT"), "8080"))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	personpb.RegisterPersonServiceServer(server, &personService{})
	streampb.RegisterStreamServiceServer(server, &streamService{})

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-stop
		// Calls in flight get two seconds to end.
		time.AfterFunc(2*time.Second, func() { os.Exit(0) })
		server.GracefulStop()
	}()
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
