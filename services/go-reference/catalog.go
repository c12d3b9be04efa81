package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

var (
	adjectives = strings.Fields("amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain")
	nouns      = strings.Fields("anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow")
	tags       = strings.Fields("attic bath cellar desk entry fire garden hall indoor junior kitchen lamp modern night office patio quiet rustic shelf travel")
	materials  = strings.Fields("ash brass clay cork cotton felt glass iron jute leather linen marble oak paper steel wool")
	cities     = strings.Fields("Århus Bern Córdoba Dublin Évora Fès Gdańsk Helsinki Iași Jerez Kraków Łódź München Nîmes 大阪 Zürich")
)

// Below this a reply is not worth compressing.
const compressedFrom = 1024

type item struct {
	ID          int       `json:"id"`
	Name        string    `json:"name"`
	Price       int       `json:"price"`
	Tags        [3]string `json:"tags"`
	Description string    `json:"description"`
}

func newItem(i int) item {
	what := adjectives[i%16] + " " + nouns[i/16%16]
	return item{
		ID:    i,
		Name:  fmt.Sprintf("%s %d", what, i),
		Price: i*37%9900 + 100,
		Tags:  [3]string{tags[i%20], tags[(i+7)%20], tags[(i+13)%20]},
		Description: fmt.Sprintf("The %s no. %d is made of %s, weighs %d g and ships from %s within %d days. "+
			"Customers who bought it also bought the \"%s %s\" & rate it <%d of 5>.",
			what, i, materials[i*7%16], i*53%4900+100, cities[i*11%16], i%7+1,
			adjectives[(i+5)%16], nouns[(i+3)%16], i%5+1),
	}
}

func catalog(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	from, ok := within(query, "from", 1_000_000)
	count, okCount := within(query, "count", 500)
	if !ok || !okCount {
		http.Error(w, "from is 1 to 1000000, count 1 to 500", http.StatusBadRequest)
		return
	}
	items := make([]item, count)
	for i := range items {
		items[i] = newItem(from + i)
	}
	body, err := json.Marshal(map[string][]item{"items": items})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "Accept-Encoding")
	if len(body) >= compressedFrom && takesGzip(r) {
		var coded bytes.Buffer
		writer, _ := gzip.NewWriterLevel(&coded, gzip.BestSpeed)
		writer.Write(body)
		writer.Close()
		w.Header().Set("Content-Encoding", "gzip")
		body = coded.Bytes()
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// within reads a parameter of small digits alone, from 1 to most.
func within(query url.Values, name string, most int) (int, bool) {
	text := query.Get(name)
	if strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.Atoi(text)
	return number, err == nil && 1 <= number && number <= most
}

func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			value, isWeight := strings.CutPrefix(strings.TrimSpace(weight), "q=")
			number, err := strconv.ParseFloat(value, 64)
			return !isWeight || err == nil && number > 0
		}
	}
	return false
}
