module go-nethttp

go 1.24

require (
	github.com/gorilla/websocket v1.5.3
	github.com/klauspost/compress v1.19.0
)
