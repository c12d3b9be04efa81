package main

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

const (
	ok         = "200 OK"
	created    = "201 Created"
	noContent  = "204 No Content"
	unknown    = "404 Not Found"
	notAllowed = "405 Method Not Allowed"
	conflict   = "409 Conflict"
	stale      = "412 Precondition Failed"
	faulty     = "422 Unprocessable Content"
	noVersion  = "428 Precondition Required"
)

// The statements of `go-nethttp-pgx`, without what a reply needs not hold.
const (
	orderColumns = "o.id, o.customer_id, o.status, o.note, o.total_cents, o.version"

	selectOrder = "select " + orderColumns + ", l.product_id, l.quantity, l.price_cents from orders o " +
		"join order_line l on l.order_id = o.id where o.id = $1 order by l.line"
	selectPage     = "select " + orderColumns + " from orders o where o.customer_id = $1::bigint and o.id > $2 order by o.id limit $3"
	selectPrices   = "select id, price_cents from product where id = any($1::bigint[])"
	selectCustomer = "select 1 from customer where id = $1::bigint"
	insertOrder    = "insert into orders (customer_id, status, note, total_cents) values ($1, 'open', $2, $3) returning id"
	// The id of the order is the last that this connection drew, so that nobody has to wait for it.
	insertLines = "insert into order_line (order_id, line, product_id, quantity, price_cents) " +
		"select (select lastval()), n, p, q, c from unnest($1::int[], $2::int[], $3::int[]) with ordinality as t (p, q, c, n)"
	lockOrder     = "select status, version from orders where id = $1 for update"
	updateOrder   = "update orders as o set status = $2, version = version + 1 where id = $1 returning " + orderColumns
	deleteOrder   = "delete from orders where id = $1 and status = 'open'"
	existingOrder = "select 1 from orders where id = $1"
)

var begin, commit, rollback = Query{sql: "begin"}, Query{sql: "commit"}, Query{sql: "rollback"}

type Shop struct {
	pool Pool
}

func (s Shop) answer(request *Request, reply *Reply) {
	if err := s.route(request, reply); err != nil {
		reply.begin(statusOf(err))
	}
}

func (s Shop) route(request *Request, reply *Reply) error {
	path := request.path
	if strings.Contains(path, "%") {
		if plain, err := url.PathUnescape(path); err == nil {
			path = plain
		}
	}
	if id, found := strings.CutPrefix(path, "/orders/"); found {
		number, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			reply.begin(unknown)
			return nil
		}
		switch request.method {
		case "GET":
			return s.get(number, reply)
		case "PATCH":
			return s.setStatus(number, request, reply)
		case "DELETE":
			return s.delete(number, reply)
		}
		reply.begin(notAllowed)
		return nil
	}
	switch request.method + " " + path {
	case "GET /orders":
		return s.list(request, reply)
	case "POST /orders":
		return s.create(request, reply)
	case "GET /fortunes":
		return s.fortunes(request, reply)
	}
	reply.begin(unknown)
	if path == "/orders" || path == "/fortunes" {
		reply.begin(notAllowed)
	}
	return nil
}

func (s Shop) get(id int64, reply *Reply) error {
	return s.pool.use(func(c *Connection) error {
		reply.begin(unknown)
		_, err := c.ask(Query{selectOrder, [][]byte{text(id)}, func(columns [][]byte) {
			if len(reply.body) == 0 {
				reply.beginOrder(ok, columns)
				reply.body = append(reply.body, `,"lines":[`...)
			}
			reply.body = appendLine(reply.body, columns[6:])
		}})
		if len(reply.body) > 0 {
			reply.body = append(reply.body[:len(reply.body)-1], "]}"...)
		}
		return err
	})
}

// list reads one order more than the page holds: it tells whether another page follows.
func (s Shop) list(request *Request, reply *Reply) error {
	customer, err := request.number("customer", "")
	after, err2 := request.number("after", "0")
	limit, err3 := request.number("limit", "20")
	if err != nil || err2 != nil || err3 != nil || limit < 1 || limit > 50 {
		reply.begin(malformed)
		return nil
	}
	return s.pool.use(func(c *Connection) error {
		reply.begin(ok)
		reply.kind = "application/json"
		body := append(reply.body, `{"items":[`...)
		var last, next []byte
		rows := int64(0)
		_, err := c.ask(Query{selectPage, [][]byte{text(customer), text(after), text(limit + 1)}, func(columns [][]byte) {
			if rows++; rows > limit {
				next = last
				return
			}
			if rows > 1 {
				body = append(body, ',')
			}
			body = append(appendOrder(body, columns), '}')
			last = append(last[:0], columns[0]...)
		}})
		body = append(body, `],"next":`...)
		if next == nil {
			next = []byte("null")
		}
		reply.body = append(append(body, next...), '}')
		return err
	})
}

func (s Shop) create(request *Request, reply *Reply) error {
	var draft Draft
	if json.Unmarshal(request.body, &draft) != nil {
		reply.begin(malformed)
		return nil
	}
	products, quantities := make([]int64, len(draft.Lines)), make([]int64, len(draft.Lines))
	for i, line := range draft.Lines {
		products[i], quantities[i] = line.ProductID, line.Quantity
	}
	return s.pool.use(func(c *Connection) error {
		prices, customerKnown := make(map[int64]int64, len(draft.Lines)), false
		err := c.askAll(begin,
			Query{selectPrices, [][]byte{array(products)}, func(columns [][]byte) { prices[integer(columns[0])] = integer(columns[1]) }},
			Query{selectCustomer, [][]byte{text(draft.CustomerID)}, func([][]byte) { customerKnown = true }})
		if err != nil {
			return err
		}
		if faults := draft.check(customerKnown, prices); len(faults) > 0 {
			reply.begin(faulty)
			reply.kind = "application/json"
			reply.body = appendFaults(reply.body, faults)
			_, err := c.ask(rollback)
			return err
		}
		return c.store(draft, products, quantities, prices, reply)
	})
}

// store ends the transaction that began when the prices were read.
func (c *Connection) store(draft Draft, products, quantities []int64, prices map[int64]int64, reply *Reply) error {
	var total int64
	cents := make([]int64, len(products))
	for i, product := range products {
		cents[i] = prices[product]
		total += quantities[i] * cents[i]
	}
	var note []byte
	if draft.Note != nil {
		note = append([]byte{}, *draft.Note...)
	}
	customer, sum := text(draft.CustomerID), text(total)
	return c.askAll(
		Query{insertOrder, [][]byte{customer, note, sum}, func(columns [][]byte) {
			reply.beginOrder(created, [][]byte{columns[0], customer, []byte("open"), note, sum, []byte("1")})
			reply.headers = append(append(append(reply.headers, "Location: /orders/"...), columns[0]...), "\r\n"...)
			body := append(reply.body, `,"lines":[`...)
			for i := range products {
				body = appendLine(body, [][]byte{text(products[i]), text(quantities[i]), text(cents[i])})
			}
			reply.body = append(body[:len(body)-1], "]}"...)
		}},
		Query{sql: insertLines, values: [][]byte{array(products), array(quantities), array(cents)}},
		commit)
}

func (s Shop) setStatus(id int64, request *Request, reply *Reply) error {
	var change struct{ Status string }
	if request.ifMatch == "" {
		reply.begin(noVersion)
		return nil
	}
	if json.Unmarshal(request.body, &change) != nil {
		reply.begin(malformed)
		return nil
	}
	return s.pool.use(func(c *Connection) error {
		refusal := unknown
		err := c.askAll(begin, Query{lockOrder, [][]byte{text(id)}, func(columns [][]byte) {
			refusal = refuse(string(columns[0]), change.Status, string(columns[1]), request.ifMatch)
		}})
		if err != nil {
			return err
		}
		if refusal != "" {
			reply.begin(refusal)
			_, err := c.ask(rollback)
			return err
		}
		return c.askAll(Query{updateOrder, [][]byte{text(id), []byte(change.Status)}, func(columns [][]byte) {
			reply.beginOrder(ok, columns)
			reply.body = append(reply.body, '}')
		}}, commit)
	})
}

// refuse tells why an order may not become what a client wants, if it may not.
func refuse(from, to, version, ifMatch string) string {
	if ifMatch != `"`+version+`"` {
		return stale
	}
	switch from + " " + to {
	case "open paid", "open cancelled", "paid shipped", "paid cancelled":
		return ""
	}
	return conflict
}

func (s Shop) delete(id int64, reply *Reply) error {
	return s.pool.use(func(c *Connection) error {
		reply.begin(noContent)
		deleted, err := c.ask(Query{sql: deleteOrder, values: [][]byte{text(id)}})
		if err != nil || deleted > 0 {
			return err
		}
		reply.begin(unknown)
		_, err = c.ask(Query{existingOrder, [][]byte{text(id)}, func([][]byte) { reply.begin(conflict) }})
		return err
	})
}

// beginOrder begins a reply with an order, whose object stays open.
func (r *Reply) beginOrder(status string, columns [][]byte) {
	r.begin(status)
	r.kind = "application/json"
	r.headers = append(append(append(r.headers, `ETag: "`...), columns[5]...), "\"\r\n"...)
	r.body = appendOrder(r.body, columns)
}

// number gives an integer of the query.
func (r *Request) number(name, otherwise string) (int64, error) {
	value, given := r.parameter(name)
	if !given {
		value = otherwise
	}
	return strconv.ParseInt(value, 10, 64)
}

// integer reads what PostgreSQL wrote.
func integer(column []byte) int64 {
	number, _ := strconv.ParseInt(string(column), 10, 64)
	return number
}
