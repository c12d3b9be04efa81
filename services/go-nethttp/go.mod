module go-nethttp

go 1.24
