//go:build linux

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// agentsCommand measures how well one call of search_code answers questions.
	agentsCommand = "agents"
	// setsVariable names the folder with the questions.
	setsVariable = "REPOMCP_AGENT_SETS"
	// maxReply bounds a reply of the server, several times what a result may have.
	maxReply = 1 << 20
)

// question is a line of a set.
type question struct {
	Question string   `json:"question"`
	Files    []string `json:"files"` // paths that answer it
	Ref      string   `json:"ref"`   // where it is asked; "" for HEAD
}

// marks are what the answers to the questions of a set came to.
type marks struct {
	questions, failed int
	at5, at10         float64 // sums of recall
	bytes, most       int     // of the texts, and of the largest
	data              int     // of structuredContent
}

// runAgents asks each question of the sets in a folder with one call of search_code that has the question's own words,
// and prints which share of the files is among the first 5 and 10 of the answer. A set is NAME.jsonl with a question a
// line, and the bare repository NAME.git or an archive of it, NAME.git.tar. For a repository without a set the
// questions are made of its history: see writeSubjects.
func runAgents(ctx context.Context, args []string) (err error) {
	set := flag.NewFlagSet("bench agents", flag.ContinueOnError)
	folder := set.String("sets", os.Getenv(setsVariable), "folder with sets of questions (default: $"+setsVariable+")")
	if err := set.Parse(args); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "bench-agents")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	names, err := setsIn(ctx, *folder, work)
	if err != nil || len(names) == 0 || *folder == "" {
		return errors.Join(err, fmt.Errorf("no NAME.jsonl or NAME.git in the folder %q: name one with -sets or %s",
			*folder, setsVariable))
	}
	const prepare = `set -e; CGO_ENABLED=0 go build -trimpath -o "$1/repomcp" github.com/repomcp/repomcp/cmd/repomcp
		mkdir "$1/root"
		cd "$2"
		for mirror in *.git; do
			if [ -d "$mirror" ]; then git clone -q --mirror --local "$mirror" "$1/root/$mirror"; fi
		done
		for archive in *.git.tar; do if [ -f "$archive" ]; then tar -C "$1/root" -xf "$archive"; fi; done`
	from, err := filepath.Abs(*folder)
	if err == nil {
		_, err = shell(ctx, nil, prepare, work, from)
	}
	if err != nil {
		return err
	}
	server, err := startStdio(ctx, filepath.Join(work, "repomcp"), filepath.Join(work, "root"))
	if err != nil {
		return err
	}
	fmt.Println("| set | questions | failed | recall at 5 | at 10 | bytes of text, mean | most | of data, mean |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, name := range names {
		if err := server.askAll(name); err != nil {
			return errors.Join(err, server.close())
		}
	}
	return server.close()
}

// setsIn returns the sets of questions in a folder, and those that it makes in the folder work for mirrors without one.
func setsIn(ctx context.Context, folder, work string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	mirrors, err := filepath.Glob(filepath.Join(folder, "*.git"))
	if err != nil {
		return nil, err
	}
	for _, mirror := range mirrors {
		stem := strings.TrimSuffix(mirror, ".git")
		if slices.Contains(names, stem+".jsonl") {
			continue
		}
		made := filepath.Join(work, filepath.Base(stem)+".jsonl")
		if err := writeSubjects(ctx, mirror, made); err != nil {
			return nil, err
		}
		names = append(names, made)
	}
	return names, nil
}

// stdioServer is a server on pipes.
type stdioServer struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	id      int
}

// startStdio starts a server for the mirrors below a folder.
func startStdio(ctx context.Context, binary, root string, flags ...string) (*stdioServer, error) {
	s := &stdioServer{
		process: exec.CommandContext(ctx, binary, //nolint:gosec // built by this program
			append([]string{"stdio", "--root", root}, flags...)...),
	}
	var err error
	if s.in, err = s.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewScanner(out)
	s.out.Buffer(nil, maxReply)
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	var ignored any
	return s, s.call("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "0"},
	}, &ignored)
}

func (s *stdioServer) close() error { return errors.Join(s.in.Close(), s.process.Wait()) }

// call sends a request and waits for its result.
func (s *stdioServer) call(method string, params, result any) error {
	s.id++
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
	if err == nil {
		_, err = s.in.Write(append(request, '\n'))
	}
	if err != nil {
		return err
	}
	for s.out.Scan() {
		var reply struct {
			ID     any             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(s.out.Bytes(), &reply); err != nil {
			return err
		}
		switch {
		case reply.ID != float64(s.id): // a notification
		case reply.Error != nil:
			return fmt.Errorf("%s: %s", method, reply.Error)
		default:
			return json.Unmarshal(reply.Result, result)
		}
	}
	return errors.Join(s.out.Err(), io.ErrUnexpectedEOF)
}

// askAll asks the questions of a set, and prints a row of the report.
func (s *stdioServer) askAll(set string) error {
	text, err := os.ReadFile(filepath.Clean(set))
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(set), ".jsonl")
	var m marks
	for lines := json.NewDecoder(bytes.NewReader(text)); ; {
		var q question
		if err := lines.Decode(&q); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%s: %w", set, err)
		}
		if err := s.ask(name, q, &m); err != nil {
			return err
		}
	}
	n := float64(max(m.questions, 1))
	fmt.Printf("| %s | %d | %d | %.3f | %.3f | %.0f | %d | %.0f |\n", name, m.questions, m.failed, m.at5/n, m.at10/n,
		float64(m.bytes)/n, m.most, float64(m.data)/n)
	return nil
}

// toolResult is what a question is marked by.
type toolResult struct {
	IsError bool                    `json:"isError"`
	Content []struct{ Text string } `json:"content"`
	Data    json.RawMessage         `json:"structuredContent"`
}

func (s *stdioServer) ask(repository string, q question, m *marks) error {
	arguments := map[string]any{"query": q.Question, "repo": repository}
	if q.Ref != "" {
		arguments["ref"] = q.Ref
	}
	var result toolResult
	err := s.call("tools/call", map[string]any{"name": "search_code", "arguments": arguments}, &result)
	if err != nil {
		return err
	}
	size := 0
	for _, block := range result.Content {
		size += len(block.Text)
	}
	m.questions++
	m.bytes, m.most, m.data = m.bytes+size, max(m.most, size), m.data+len(result.Data)
	if result.IsError {
		m.failed++
		fmt.Fprintf(os.Stderr, "%s: %s\n  %s\n", repository, q.Question, result.Content[0].Text)
		return nil
	}
	var data struct{ Files []struct{ Path string } }
	if err := json.Unmarshal(result.Data, &data); err != nil {
		return err
	}
	var paths []string
	for _, file := range data.Files {
		if !slices.Contains(paths, file.Path) {
			paths = append(paths, file.Path)
		}
	}
	m.at5 += recall(paths, q.Files, 5)
	m.at10 += recall(paths, q.Files, 10)
	return nil
}

// recall returns the share of the wanted paths among the first.
func recall(paths, wanted []string, first int) float64 {
	found := 0
	for _, path := range paths[:min(len(paths), first)] {
		if slices.Contains(wanted, path) {
			found++
		}
	}
	return float64(found) / float64(cmp.Or(len(wanted), 1))
}
