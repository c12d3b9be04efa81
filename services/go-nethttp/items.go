package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

const (
	largestFrom  = 1_000_000
	largestCount = 500
)

var (
	adjectives = strings.Fields("amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain")
	nouns      = strings.Fields("anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow")
	tags       = strings.Fields("attic bath cellar desk entry fire garden hall indoor junior kitchen lamp modern night office patio quiet rustic shelf travel")
	materials  = strings.Fields("ash brass clay cork cotton felt glass iron jute leather linen marble oak paper steel wool")
	cities     = strings.Fields("Århus Bern Córdoba Dublin Évora Fès Gdańsk Helsinki Iași Jerez Kraków Łódź München Nîmes 大阪 Zürich")
)

type Item struct {
	ID          int       `json:"id"`
	Name        string    `json:"name"`
	Price       int       `json:"price"`
	Tags        [3]string `json:"tags"`
	Description string    `json:"description"`
}

type ItemList struct {
	Items []Item `json:"items"`
}

// parseItems reads from and count of a query, and makes the items that it asks for.
func parseItems(query url.Values) (ItemList, bool) {
	from, ok := parseWithin(query.Get("from"), largestFrom)
	count, ok2 := parseWithin(query.Get("count"), largestCount)
	if !ok || !ok2 {
		return ItemList{}, false
	}
	items := make([]Item, count)
	for i := range items {
		items[i] = newItem(from + i)
	}
	return ItemList{items}, true
}

// parseWithin reads an integer from 1 to largest.
func parseWithin(text string, largest uint64) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return int(n), err == nil && 1 <= n && n <= largest
}

func newItem(i int) Item {
	name := adjectives[i%16] + " " + nouns[i/16%16]
	return Item{
		ID:    i,
		Name:  name + " " + strconv.Itoa(i),
		Price: i*37%9900 + 100,
		Tags:  [3]string{tags[i%20], tags[(i+7)%20], tags[(i+13)%20]},
		Description: fmt.Sprintf("The %s no. %d is made of %s, weighs %d g and ships from %s within %d days. "+
			"Customers who bought it also bought the \"%s %s\" & rate it <%d of 5>.",
			name, i, materials[i*7%16], i*53%4900+100, cities[i*11%16], i%7+1,
			adjectives[(i+5)%16], nouns[(i+3)%16], i%5+1),
	}
}
