package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	mostEvents   = 10_000
	longestGapUS = 1_000_000
)

// events sends numbered events, each when its time has come, until all are sent or the client has left.
func events(w http.ResponseWriter, r *http.Request) {
	count, gap, ok := parseEvents(r.URL.Query())
	if !ok {
		http.Error(w, "count must be an integer from 1 to 10000, gap_us one from 0 to 1000000", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	sent := http.NewResponseController(w)
	for i := 1; i <= count; i++ {
		if i > 1 && gap > 0 {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(gap):
			}
		}
		_, err := fmt.Fprintf(w, "id: %d\nevent: tick\ndata: {\"n\":%d,\"of\":%d}\n\n", i, i, count)
		if err != nil || sent.Flush() != nil {
			return
		}
	}
	fmt.Fprint(w, "event: end\ndata: bye\n\n")
}

// parseEvents reads count and gap_us of a query.
func parseEvents(query url.Values) (count int, gap time.Duration, ok bool) {
	n, err := strconv.ParseUint(query.Get("count"), 10, 32)
	us, err2 := strconv.ParseUint(query.Get("gap_us"), 10, 32)
	ok = err == nil && err2 == nil && 1 <= n && n <= mostEvents && us <= longestGapUS
	return int(n), time.Duration(us) * time.Microsecond, ok
}
