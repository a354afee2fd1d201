package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// endpoint is the address of a server.
type endpoint struct {
	at      *url.URL // for HTTP, or for HTTP beside a WebSocket
	socket  *url.URL // nil without a WebSocket
	command []string
	pipe    io.ReadWriteCloser
}

var besides = map[string]string{"ws": "http", "wss": "https"}

func parseEndpoint(text string, o Options) (endpoint, error) {
	if command, ok := strings.CutPrefix(text, schemeStdio); ok {
		return parseCommand(command, o)
	}
	if o.Command != nil || o.Pipe != nil {
		return endpoint{}, errors.New("the options Command and Pipe go with the endpoint \"stdio:\" alone")
	}
	if u, err := url.Parse(text); err == nil && besides[u.Scheme] != "" && u.Host != "" {
		at := *u
		at.Scheme = besides[u.Scheme]
		return endpoint{at: &at, socket: u}, nil
	}
	at, err := parseURL(text)
	return endpoint{at: at}, err
}

func parseCommand(text string, o Options) (endpoint, error) {
	words, err := splitCommand(text)
	if err != nil {
		return endpoint{}, err
	}
	given := 0
	for _, is := range []bool{len(words) > 0, o.Command != nil, o.Pipe != nil} {
		if is {
			given++
		}
	}
	if len(o.Command) > 0 {
		words = o.Command
	}
	if given != 1 || o.Pipe == nil && (len(words) == 0 || words[0] == "") {
		return endpoint{}, errors.New("name the command that starts the server behind stdio:, such as " +
			`"stdio:repomcp stdio --root DIR", or one of the options Command and Pipe`)
	}
	// There is no HTTP beside it: no URL has this origin.
	return endpoint{at: &url.URL{Scheme: "stdio"}, command: words, pipe: o.Pipe}, nil
}

// transport makes the transport of a client. It sends nothing yet.
func (e endpoint) transport(c *Client) transport {
	switch {
	case e.socket != nil:
		return newConnection(c, false, func(ctx context.Context) (carrier, error) {
			return c.dialSocket(ctx, e.socket)
		})
	case e.pipe != nil:
		return newConnection(c, true, func(context.Context) (carrier, error) {
			return newPipe(e.pipe, e.pipe, func(reason error) error {
				_ = e.pipe.Close() // it may have been closed
				if reason == nil {
					return nil
				}
				return fmt.Errorf("%w: %w", ErrProgramEnded, reason)
			}), nil
		})
	case e.command != nil:
		return newConnection(c, true, func(context.Context) (carrier, error) { return startCommand(e.command) })
	default:
		return overHTTP{c}
	}
}
