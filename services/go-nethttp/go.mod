module go-nethttp

go 1.25

require (
	github.com/gorilla/websocket v1.5.3
	github.com/klauspost/compress v1.20.4
)
