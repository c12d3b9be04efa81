package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

const (
	cachedFor      = time.Second
	largestDeposit = 1_000_000
)

type Account struct {
	ID           int64  `json:"id"`
	Name         string `json:"name"`
	BalanceCents int64  `json:"balanceCents"`
}

type Accounts struct {
	pool   *pgxpool.Pool
	cache  *redis.Client
	tokens Tokens
}

func newAccounts(pool *pgxpool.Pool, cache string) Accounts {
	options, err := redis.ParseURL(cache)
	if err != nil {
		log.Fatal("REDIS_URL: ", err)
	}
	return Accounts{pool, redis.NewClient(options), newTokens()}
}

func (a Accounts) get(w http.ResponseWriter, r *http.Request) {
	id, ok := a.authorize(w, r)
	if !ok {
		return
	}
	account, err := a.read(r.Context(), id)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(account)
}

func (a Accounts) deposit(w http.ResponseWriter, r *http.Request) {
	id, ok := a.authorize(w, r)
	if !ok {
		return
	}
	var deposit struct {
		AmountCents int64 `json:"amountCents"`
	}
	err := readJSON(w, r, &deposit)
	wrongType := new(json.UnmarshalTypeError)
	if err != nil && !errors.As(err, &wrongType) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err != nil || deposit.AmountCents < 1 || deposit.AmountCents > largestDeposit {
		http.Error(w, "amountCents must be an integer from 1 to 1000000", http.StatusUnprocessableEntity)
		return
	}
	account, err := a.add(r.Context(), id, deposit.AmountCents)
	if err != nil {
		refuse(w, err)
		return
	}
	writeJSON(w, http.StatusCreated, account)
}

// authorize gives the account that a request may work on, or answers 401, 403 or 404.
func (a Accounts) authorize(w http.ResponseWriter, r *http.Request) (int64, bool) {
	claims, err := a.tokens.claims(r)
	if err != nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="account", error="invalid_token"`)
		http.Error(w, "a valid token is needed", http.StatusUnauthorized)
		return 0, false
	}
	if !claims.may(r.PathValue("id")) {
		http.Error(w, "the token is for another account", http.StatusForbidden)
		return 0, false
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 32)
	if err != nil {
		refuse(w, errUnknown)
	}
	return id, err == nil
}

// read gives an account as JSON, through the cache.
func (a Accounts) read(ctx context.Context, id int64) ([]byte, error) {
	key := cacheKey(id)
	if cached, err := a.cache.Get(ctx, key).Bytes(); err == nil && len(cached) > 0 {
		return cached, nil
	}
	account, err := a.row(ctx, "select id, name, balance_cents from account where id = $1", id)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(account)
	if err != nil {
		return nil, err
	}
	// Not over the mark of a deposit that came after the row was read.
	a.cache.SetNX(ctx, key, body, cachedFor)
	return body, nil
}

func (a Accounts) add(ctx context.Context, id, amount int64) (*Account, error) {
	account, err := a.row(ctx, "update account set balance_cents = balance_cents + $2 where id = $1 returning id, name, balance_cents", id, amount)
	if err != nil {
		return nil, err
	}
	// An empty mark, where a deletion would let a reader of the old row store it.
	a.cache.Set(ctx, cacheKey(id), "", cachedFor)
	return account, nil
}

func (a Accounts) row(ctx context.Context, sql string, args ...any) (*Account, error) {
	rows, err := a.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	account, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByPos[Account])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errUnknown
	}
	return account, err
}

func cacheKey(id int64) string {
	return "account:" + strconv.FormatInt(id, 10)
}
