// SPDX-License-Identifier: MIT
// database/sql with the driver that pgx brings for it, by the rules of rules/ends.go. lib/pq was no faster, and stays for
// ever in a read of a host that fell silent, whatever the context says. As many connections may lie idle as there are: by
// default two, and the others would be closed and opened again all the time. In an outage the whole turn is one QueryRowContext
// of the pool, as its documentation has it, which tries again with another connection when one turns out to be dead. Advised
// limits: connect_timeout, and a context.
package main

import (
	"database/sql"
	"fmt"

	_ "github.com/jackc/pgx/v4/stdlib"
)

const server = "pq"

type connection struct{ *sql.Conn }
type wholePool struct{ *sql.DB }

var pool *sql.DB

func begin() {
	address := fmt.Sprintf("postgres://tester:secret@%s:%s/test?sslmode=disable", asked.host, asked.port)
	if asked.mode == "advised" {
		address += fmt.Sprintf("&connect_timeout=%.0f", connectLimit.Seconds())
	}
	var err error
	pool, err = sql.Open("pgx", address)
	expectFine(err)
	pool.SetMaxOpenConns(asked.connections)
	pool.SetMaxIdleConns(asked.connections)
}

func take() (lease, error) {
	if asked.mode != "" && opened {
		return wholePool{pool}, nil
	}
	limit, cancel := within(waitLimit)
	defer cancel()
	taken, err := pool.Conn(limit)
	return connection{taken}, err
}

func (c connection) ask() (answer string, err error) {
	limit, cancel := within(answerLimit)
	defer cancel()
	err = c.QueryRowContext(limit, "select 1").Scan(&answer)
	return
}

func (c connection) give() {
	c.Close()
}

func (p wholePool) ask() (answer string, err error) {
	limit, cancel := within(waitLimit + answerLimit)
	defer cancel()
	err = p.QueryRowContext(limit, "select 1").Scan(&answer)
	return
}

func (p wholePool) give() {
}
