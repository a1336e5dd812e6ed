// SPDX-License-Identifier: MIT
// pgxpool with as many connections at least as at most, by the rules of rules/ends.go. It prepares a statement that it sees
// for the first time and runs it by name from then on, its default. The server has no TLS, and is not asked for it: pgx would
// connect a second time. Advised limits: connect_timeout, and contexts for Acquire and for the query. When the latter ends pgx
// closes the connection, but its place in the pool is free only after it has asked the server to cancel, for which pgx takes up
// to 15 s and has no setting.
package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v4/pgxpool"
)

const server = "pq"

type connection struct{ *pgxpool.Conn }

var pool *pgxpool.Pool

func begin() {
	config, err := pgxpool.ParseConfig(fmt.Sprintf("postgres://tester:secret@%s:%s/test?sslmode=disable", asked.host, asked.port))
	expectFine(err)
	config.MinConns, config.MaxConns = int32(asked.connections), int32(asked.connections)
	if asked.mode == "advised" {
		config.ConnConfig.ConnectTimeout = connectLimit
	}
	pool, err = pgxpool.ConnectConfig(context.Background(), config)
	expectFine(err)
}

func take() (lease, error) {
	limit, cancel := within(waitLimit)
	defer cancel()
	taken, err := pool.Acquire(limit)
	return connection{taken}, err
}

func (c connection) ask() (string, error) {
	var answer int
	limit, cancel := within(answerLimit)
	defer cancel()
	err := c.QueryRow(limit, "select 1").Scan(&answer)
	return strconv.Itoa(answer), err
}

func (c connection) give() {
	c.Release()
}
