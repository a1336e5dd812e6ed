// SPDX-License-Identifier: MIT
// redigo's Pool, by the rules of rules/ends.go: Wait is on, so that who finds no connection waits for one. Advised limits:
// those of Dial for connecting, reading and writing, and a context for Get.
package main

import (
	"net"

	"github.com/gomodule/redigo/redis"
)

const server = "redis"

type connection struct{ redis.Conn }

var pool *redis.Pool

func begin() {
	address, options := net.JoinHostPort(asked.host, asked.port), []redis.DialOption{redis.DialPassword("secret")}
	if asked.mode == "advised" {
		options = append(options, redis.DialConnectTimeout(connectLimit), redis.DialReadTimeout(answerLimit),
			redis.DialWriteTimeout(answerLimit))
	}
	pool = &redis.Pool{
		MaxActive: asked.connections,
		MaxIdle:   asked.connections,
		Wait:      true,
		Dial:      func() (redis.Conn, error) { return redis.Dial("tcp", address, options...) },
	}
}

func take() (lease, error) {
	limit, cancel := within(waitLimit)
	defer cancel()
	taken, err := pool.GetContext(limit)
	return connection{taken}, err
}

func (c connection) ask() (string, error) {
	return redis.String(c.Do("GET", "cenote-bench"))
}

func (c connection) give() {
	c.Close()
}
