package main

import (
	"cmp"
	"context"
	_ "embed"
	"html/template"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type Fortune struct {
	ID      int
	Message string
}

//go:embed fortunes.html
var fortunesHTML string

var fortunesPage = template.Must(template.New("fortunes.html").Parse(fortunesHTML))

// readFortunes gives all fortunes and one more, sorted by message.
func readFortunes(ctx context.Context, pool *pgxpool.Pool, nonce string) ([]Fortune, error) {
	rows, err := pool.Query(ctx, "select id, message from fortune")
	if err != nil {
		return nil, err
	}
	fortunes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Fortune])
	if err != nil {
		return nil, err
	}
	fortunes = append(fortunes, Fortune{0, "Additional fortune: " + nonce})
	slices.SortFunc(fortunes, func(a, b Fortune) int {
		return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.ID, b.ID))
	})
	return fortunes, nil
}
