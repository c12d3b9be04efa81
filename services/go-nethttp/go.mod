module go-nethttp

go 1.24

require github.com/klauspost/compress v1.19.0
