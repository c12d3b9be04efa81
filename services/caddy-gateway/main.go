// Caddy with the modules that this service uses: its core, its JSON configuration, its HTTP server and its reverse proxy.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

func main() {
	caddycmd.Main()
}
