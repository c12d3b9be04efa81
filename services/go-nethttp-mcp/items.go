package main

import (
	"strconv"
	"strings"
)

const largestID = 1_000_000

var (
	adjectives = strings.Fields("amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain")
	nouns      = strings.Fields("anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow")
	labels     = strings.Fields("attic bath cellar desk entry fire garden hall indoor junior kitchen lamp modern night office patio quiet rustic shelf travel")
)

// Item is one of a shop, computed from its number.
type Item struct {
	ID    int       `json:"id"`
	Name  string    `json:"name"`
	Price int       `json:"price"`
	Tags  [3]string `json:"tags"`
}

// findItem gives the item with a number from 1 to largestID.
func findItem(i int) (Item, bool) {
	if i < 1 || i > largestID {
		return Item{}, false
	}
	return Item{
		ID:    i,
		Name:  adjectives[i%16] + " " + nouns[i/16%16] + " " + strconv.Itoa(i),
		Price: i*37%9900 + 100,
		Tags:  [3]string{labels[i%20], labels[(i+7)%20], labels[(i+13)%20]},
	}, true
}
