// Caddy with the modules that this service uses: its core, its JSON configuration and its HTTP server.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func main() {
	caddycmd.Main()
}
