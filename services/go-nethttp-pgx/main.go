// A server of the Go standard library on PostgreSQL, with pgx, and on Redis.
package main

import (
	"net/http"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
)

func main() {
	pool := connect()
	defer pool.Close()
	serve(routes(pool))
}

func routes(pool *pgxpool.Pool) http.Handler {
	mux := http.NewServeMux()
	shop := Shop{OrderStore{pool}}
	mux.HandleFunc("POST /orders", shop.create)
	mux.HandleFunc("GET /orders", shop.list)
	mux.HandleFunc("GET /orders/{id}", shop.get)
	mux.HandleFunc("PATCH /orders/{id}", shop.setStatus)
	mux.HandleFunc("DELETE /orders/{id}", shop.delete)

	mux.HandleFunc("GET /fortunes", fortunes(pool))

	// Only the contract `account` has a cache beside its database.
	if cache := os.Getenv("REDIS_URL"); cache != "" {
		accounts := newAccounts(pool, cache)
		mux.HandleFunc("GET /account/{id}", accounts.get)
		mux.HandleFunc("POST /account/{id}/deposits", accounts.deposit)
	}
	return mux
}

func fortunes(pool *pgxpool.Pool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		nonce := r.URL.Query().Get("nonce")
		if nonce == "" {
			http.Error(w, "nonce is missing", http.StatusBadRequest)
			return
		}
		fortunes, err := readFortunes(r.Context(), pool, nonce)
		if err != nil {
			refuse(w, err)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fortunesPage.Execute(w, fortunes)
	}
}
