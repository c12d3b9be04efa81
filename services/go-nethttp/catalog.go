package main

import "net/http"

func catalog(w http.ResponseWriter, r *http.Request) {
	items, ok := parseItems(r.URL.Query())
	if !ok {
		http.Error(w, "from must be an integer from 1 to 1000000, count one from 1 to 500", http.StatusBadRequest)
		return
	}
	writeJSON(w, items)
}
