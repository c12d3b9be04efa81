module go-gorilla

go 1.24

require (
	github.com/gorilla/mux v1.8.1
	github.com/gorilla/websocket v1.5.3
)
