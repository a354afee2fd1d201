//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// searchWithZoekt measures Zoekt (https://github.com/sourcegraph/zoekt) in the single repository, if its programs
// zoekt-git-index and zoekt-webserver are there. It is asked for ten files over HTTP.
func (b *searchBench) searchWithZoekt(ctx context.Context, where string) (err error) {
	if _, err := exec.LookPath("zoekt-webserver"); err != nil {
		return nil // it is optional
	}
	const build = `rm -rf "$2"; mkdir "$2" && zoekt-git-index -disable_ctags -index "$2" "$1/go.git" > /dev/null 2>&1 &&
		du -sb "$2" | cut -f 1`
	folder, started := b.root+".zoekt", time.Now()
	size, err := shell(ctx, nil, build, b.root, folder)
	if err != nil {
		return fmt.Errorf("zoekt-git-index: %w", err)
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(size), 10, 64)
	if err != nil {
		return err
	}
	fmt.Printf("| %s | Zoekt: built in %.0f s, %d MiB | | | | |\n", where, time.Since(started).Seconds(), bytes>>20)
	p := &place{dir: folder, near: append(os.Environ(), "INDEX="+folder)}
	defer func() { err = errors.Join(err, p.close()) }()
	address, _, err := p.start(ctx, `exec zoekt-webserver -index "$INDEX" -listen "$HOST:$PORT" -rpc 2> /dev/null`)
	if err != nil {
		return err
	}
	if err := awaitZoekt(ctx, address); err != nil {
		return err
	}
	for _, k := range b.kinds() {
		if k.name == "a question, ranked" {
			continue // Zoekt finds files that have all words
		}
		if err := row(where, "Zoekt: "+k.name, b.rounds, func(i int) error {
			return askZoekt(ctx, address, strconv.Quote(k.query(i)))
		}); err != nil {
			return err
		}
	}
	return nil
}

// awaitZoekt waits until the server has loaded its index.
func awaitZoekt(ctx context.Context, address string) error {
	for {
		err := askZoekt(ctx, address, "package")
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(quietTime / 50)
	}
}

func askZoekt(ctx context.Context, address, query string) error {
	question, err := json.Marshal(map[string]any{"Q": query, "Opts": map[string]any{"MaxDocDisplayCount": 10}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/api/search",
		bytes.NewReader(question))
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }() // it was only read
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("zoekt answered %s", reply.Status)
	}
	return nil
}
