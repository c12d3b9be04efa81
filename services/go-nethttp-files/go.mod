module go-nethttp-files

go 1.25
