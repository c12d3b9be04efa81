package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type Order struct {
	ID         int64     `json:"id"`
	CustomerID int64     `json:"customerId"`
	Status     string    `json:"status"`
	Note       *string   `json:"note"`
	TotalCents int64     `json:"totalCents"`
	Version    int       `json:"version"`
	CreatedAt  time.Time `json:"createdAt"`
}

type Line struct {
	ProductID  int64 `json:"productId"`
	Quantity   int64 `json:"quantity"`
	PriceCents int64 `json:"priceCents"`
}

type FullOrder struct {
	Order
	Lines []Line `json:"lines"`
}

type OrderPage struct {
	Items []Order `json:"items"`
	Next  *int64  `json:"next"`
}

var (
	errUnknown  = errors.New("no order has this id")
	errStale    = errors.New("the order has another version")
	errConflict = errors.New("the status of the order does not allow this")
)

// What an order of a status may become.
var transitions = map[string][]string{
	"open": {"paid", "cancelled"},
	"paid": {"shipped", "cancelled"},
}

const orderColumns = "o.id, o.customer_id, o.status, o.note, o.total_cents, o.version, o.created_at"

func (o *Order) fields() []any {
	return []any{&o.ID, &o.CustomerID, &o.Status, &o.Note, &o.TotalCents, &o.Version, &o.CreatedAt}
}

type OrderStore struct {
	pool *pgxpool.Pool
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Get reads an order and its lines in one statement, so that nothing changes in between.
func (s OrderStore) Get(ctx context.Context, id int64) (*FullOrder, error) {
	return readOrder(ctx, s.pool, id, "")
}

func readOrder(ctx context.Context, db querier, id int64, lock string) (*FullOrder, error) {
	rows, err := db.Query(ctx, "select "+orderColumns+", l.product_id, l.quantity, l.price_cents from orders o "+
		"join order_line l on l.order_id = o.id where o.id = $1 order by l.line "+lock, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var order FullOrder
	for rows.Next() {
		var line Line
		if err := rows.Scan(append(order.fields(), &line.ProductID, &line.Quantity, &line.PriceCents)...); err != nil {
			return nil, err
		}
		order.Lines = append(order.Lines, line)
	}
	if rows.Err() == nil && order.Lines == nil {
		return nil, errUnknown
	}
	return &order, rows.Err()
}

// List reads one order more than the page holds, which tells whether another page follows.
func (s OrderStore) List(ctx context.Context, customer, after int64, limit int) (*OrderPage, error) {
	rows, err := s.pool.Query(ctx, "select "+orderColumns+" from orders o "+
		"where o.customer_id = $1::bigint and o.id > $2 order by o.id limit $3", customer, after, limit+1)
	if err != nil {
		return nil, err
	}
	items, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (order Order, err error) {
		return order, row.Scan(order.fields()...)
	})
	if err != nil {
		return nil, err
	}
	page := &OrderPage{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		page.Next = &items[limit-1].ID
	}
	return page, nil
}

// Create stores a new order, or gives what is wrong with it as Faults.
func (s OrderStore) Create(ctx context.Context, draft Draft) (order *FullOrder, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		order, err = createOrder(ctx, tx, draft)
		return err
	})
	return order, err
}

func createOrder(ctx context.Context, tx pgx.Tx, draft Draft) (*FullOrder, error) {
	prices, err := readPrices(ctx, tx, draft)
	if err != nil {
		return nil, err
	}
	var known bool
	if err := tx.QueryRow(ctx, "select exists(select from customer where id = $1::bigint)", draft.CustomerID).Scan(&known); err != nil {
		return nil, err
	}
	if faults := draft.check(known, prices); len(faults) > 0 {
		return nil, faults
	}

	order := FullOrder{Lines: make([]Line, len(draft.Lines))}
	var total int64
	var products, quantities, lineCents []int64
	for i, line := range draft.Lines {
		price := prices[line.ProductID]
		order.Lines[i] = Line{line.ProductID, line.Quantity, price}
		total += line.Quantity * price
		products, quantities, lineCents = append(products, line.ProductID), append(quantities, line.Quantity), append(lineCents, price)
	}
	err = tx.QueryRow(ctx, "insert into orders as o (customer_id, status, note, total_cents) values ($1, 'open', $2, $3) returning "+orderColumns,
		draft.CustomerID, draft.Note, total).Scan(order.fields()...)
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, "insert into order_line (order_id, line, product_id, quantity, price_cents) "+
		"select $1, n, p, q, c from unnest($2::int[], $3::int[], $4::int[]) with ordinality as t (p, q, c, n)",
		order.ID, products, quantities, lineCents)
	return &order, err
}

// readPrices gives the prices of those products of a draft that there are.
func readPrices(ctx context.Context, tx pgx.Tx, draft Draft) (map[int64]int64, error) {
	ids := make([]int64, len(draft.Lines))
	for i, line := range draft.Lines {
		ids[i] = line.ProductID
	}
	rows, err := tx.Query(ctx, "select id, price_cents from product where id = any($1::bigint[])", ids)
	if err != nil {
		return nil, err
	}
	prices := make(map[int64]int64, len(ids))
	var id, price int64
	_, err = pgx.ForEachRow(rows, []any{&id, &price}, func() error {
		prices[id] = price
		return nil
	})
	return prices, err
}

// SetStatus changes an order whose version is still the one that `isCurrent` knows.
func (s OrderStore) SetStatus(ctx context.Context, id int64, status string, isCurrent func(version int) bool) (order *FullOrder, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if order, err = readOrder(ctx, tx, id, "for update of o"); err != nil {
			return err
		}
		if !isCurrent(order.Version) {
			return errStale
		}
		if !slices.Contains(transitions[order.Status], status) {
			return errConflict
		}
		return tx.QueryRow(ctx, "update orders as o set status = $2, version = version + 1 where id = $1 returning "+orderColumns,
			id, status).Scan(order.fields()...)
	})
	return order, err
}

// Delete removes an order that is open.
func (s OrderStore) Delete(ctx context.Context, id int64) error {
	deleted, err := s.pool.Exec(ctx, "delete from orders where id = $1 and status = 'open'", id)
	if err != nil || deleted.RowsAffected() > 0 {
		return err
	}
	var exists bool
	if err := s.pool.QueryRow(ctx, "select exists(select from orders where id = $1)", id).Scan(&exists); err != nil {
		return err
	}
	if exists {
		return errConflict
	}
	return errUnknown
}
