module NAME

go 1.22
