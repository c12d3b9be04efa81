module go-relay

go 1.24
