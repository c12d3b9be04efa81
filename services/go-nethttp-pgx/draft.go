package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	largestQuantity = 1000
	mostLines       = 20
	longestNote     = 500
)

// Draft is an order as a client sends it.
type Draft struct {
	CustomerID int64       `json:"customerId"`
	Note       *string     `json:"note"`
	Lines      []DraftLine `json:"lines"`
}

type DraftLine struct {
	ProductID int64 `json:"productId"`
	Quantity  int64 `json:"quantity"`
}

type Fault struct {
	Field string `json:"field"`
	Code  string `json:"code"`
}

type Faults []Fault

func (f Faults) Error() string { return fmt.Sprintf("%d faults", len(f)) }

// check finds everything that is wrong with a draft at once.
func (d Draft) check(customerKnown bool, prices map[int64]int64) (faults Faults) {
	fault := func(code, field string, position ...any) {
		faults = append(faults, Fault{fmt.Sprintf(field, position...), code})
	}
	if !customerKnown {
		fault("unknown", "customerId")
	}
	if d.Note != nil && utf8.RuneCountInString(*d.Note) > longestNote {
		fault("length", "note")
	}
	// PostgreSQL has no text with this character.
	if d.Note != nil && strings.ContainsRune(*d.Note, 0) {
		fault("character", "note")
	}
	if len(d.Lines) < 1 || len(d.Lines) > mostLines {
		fault("range", "lines")
	}
	for i, line := range d.Lines {
		if _, known := prices[line.ProductID]; !known {
			fault("unknown", "lines[%d].productId", i)
		}
		if line.Quantity < 1 || line.Quantity > largestQuantity {
			fault("range", "lines[%d].quantity", i)
		}
	}
	return faults
}
