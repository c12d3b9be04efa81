package main

import (
	"context"
	"errors"
	"log"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const patience = 2 * time.Second

// Without an end, so that pgconn watches none.
var always = context.Background()

// Pool has at most DATABASE_POOL connections. They are opened when they are needed, so the database may come later than
// the service, and go away for a while.
type Pool struct {
	config *pgconn.Config
	// As many as there may be connections; nil where one is not open.
	slots chan *Connection
	// How many connections broke: with one, all that were opened before are suspect.
	broken *atomic.Int64
}

type Connection struct {
	*pgconn.PgConn
	statements map[string]*pgconn.StatementDescription
	// Pool.broken when it was opened.
	broken int64
}

// Query is a statement with its values as text, and what reads the rows.
type Query struct {
	sql    string
	values [][]byte
	row    func(columns [][]byte)
}

func newPool() Pool {
	config, err := pgconn.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal("DATABASE_URL: ", err)
	}
	config.ConnectTimeout = patience
	size, err := strconv.Atoi(os.Getenv("DATABASE_POOL"))
	if err != nil || size < 1 {
		size = 16
	}
	slots := make(chan *Connection, size)
	for range size {
		slots <- nil
	}
	return Pool{config, slots, new(atomic.Int64)}
}

// use lends a connection. One on which something failed is not used again: it may be broken, or within a transaction.
func (p Pool) use(work func(*Connection) error) error {
	c := <-p.slots
	defer func() { p.slots <- c }()
	if c != nil && c.broken != p.broken.Load() {
		c.end()
		c = nil
	}
	if c == nil {
		broken := p.broken.Load()
		opened, err := pgconn.ConnectConfig(always, p.config)
		if err != nil {
			return err
		}
		c = &Connection{opened, map[string]*pgconn.StatementDescription{}, broken}
	}
	err := work(c)
	if err != nil {
		if c.IsClosed() {
			p.broken.CompareAndSwap(c.broken, c.broken+1)
		}
		c.end()
		c = nil
	}
	return err
}

func (c *Connection) end() {
	ctx, cancel := context.WithTimeout(always, patience)
	defer cancel()
	c.Close(ctx)
}

// ask executes one statement and tells how many rows it gave or changed.
func (c *Connection) ask(query Query) (int64, error) {
	statement, err := c.prepared(query.sql)
	if err != nil {
		return 0, err
	}
	return query.read(c.ExecStatement(always, statement, query.values, nil, nil))
}

// askAll sends statements in one round trip.
func (c *Connection) askAll(queries ...Query) error {
	for _, query := range queries {
		if _, err := c.prepared(query.sql); err != nil {
			return err
		}
	}
	pipeline := c.StartPipeline(always)
	for _, query := range queries {
		pipeline.SendQueryStatement(c.statements[query.sql], query.values, nil, nil)
	}
	if err := pipeline.Sync(); err != nil {
		return err
	}
	for _, query := range queries {
		results, err := pipeline.GetResults()
		if err == nil {
			_, err = query.read(results.(*pgconn.ResultReader))
		}
		if err != nil {
			pipeline.Close()
			return err
		}
	}
	return pipeline.Close()
}

// prepared gives a statement, which is prepared where it is used for the first time: no contract needs all of them.
func (c *Connection) prepared(sql string) (*pgconn.StatementDescription, error) {
	if statement := c.statements[sql]; statement != nil {
		return statement, nil
	}
	name := "s" + strconv.Itoa(len(c.statements))
	statement, err := c.Prepare(always, name, sql, nil)
	if err == nil {
		c.statements[sql] = statement
	}
	return statement, err
}

func (q Query) read(results *pgconn.ResultReader) (int64, error) {
	for results.NextRow() {
		if q.row != nil {
			q.row(results.Values())
		}
	}
	tag, err := results.Close()
	return tag.RowsAffected(), err
}

// statusOf gives 503 while the database is away, starts or stops, and 500 for what is our own fault.
func statusOf(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code[:2] {
		case "08", "53", "57":
		default:
			return "500 Internal Server Error"
		}
	}
	return "503 Service Unavailable"
}
