module go-gateway

go 1.24
