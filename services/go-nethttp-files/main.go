// Files by the Go standard library: net/http's file server.
package main

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
)

func main() {
	mux := http.NewServeMux()
	files := http.FileServerFS(filesOnly{os.DirFS(os.Getenv("FILES_DIR"))})
	mux.Handle("GET /files/", http.StripPrefix("/files/", files))
	serve(mux)
}

// filesOnly hides folders, which the file server would list.
type filesOnly struct{ fs.FS }

func (f filesOnly) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if errors.Is(err, fs.ErrInvalid) {
		return nil, fs.ErrNotExist // a NUL, for which the file server would answer 500
	}
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || info.IsDir() {
		file.Close()
		return nil, fs.ErrNotExist
	}
	return file, nil
}
