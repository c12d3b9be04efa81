package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connect makes a pool of at most DATABASE_POOL connections. They are opened when they are needed, so the database may
// come later than the service, and go away for a while.
func connect() *pgxpool.Pool {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal("DATABASE_URL: ", err)
	}
	config.MaxConns = 16
	if size, err := strconv.ParseInt(os.Getenv("DATABASE_POOL"), 10, 32); err == nil && size > 0 {
		config.MaxConns = int32(size)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	return pool
}

// statusOf gives 503 while the database is away, starts or stops, and 500 for what is our own fault.
func statusOf(err error) int {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return http.StatusServiceUnavailable
	}
	switch refused.Code[:2] {
	case "08", "53", "57":
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
