module go-nethttp-mcp

go 1.25
