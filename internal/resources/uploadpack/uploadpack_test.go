package uploadpack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

func TestVersionsOfTheProtocol(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[string]string{
		"": "", "version=0": "", "version=1": "version=1", "version=2": "version=2", "version=1:version=2": "version=2",
		"version=2:version=1": "version=2", "object-format=sha1:version=2:x": "version=2", "version=3": "", "version=22": "",
		"aversion=2": "", "version=2\nversion=1": "",
	} {
		if got := versionOf(protocol); got != want {
			t.Errorf("%q is %q, want %q", protocol, got, want)
		}
	}
}

func TestVersionsOfGit(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for said, want := range map[string]string{
		"git version 2.39.0": "2.39.0", "git version 2.51.0.windows.1": "2.51.0.windows.1",
		"git version 3.0.1 (Apple Git-1)": "3.0.1", "git version 2.38.9": "", "git version 1.99": "", "hello": "", "": "",
	} {
		name := filepath.Join(folder, "git"+fmt.Sprint(len(said))+want)
		if err := os.WriteFile(name, []byte("#!/bin/sh\necho '"+said+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		program, err := Find(t.Context(), name)
		if program.Version != want || (err == nil) != (want != "") {
			t.Errorf("%q: %v %v", said, program, err)
		}
	}
	if _, err := Choose(t.Context(), filepath.Join(folder, "none")); err == nil {
		t.Error("a program was found that is not there")
	}
	if program, err := Choose(t.Context(), Off); err != nil || program.Path != "" {
		t.Errorf("off is %v %v", program, err)
	}
}

// What follows the command does not make a request for objects one for refs, which needs less memory.
func TestRequestsForRefs(t *testing.T) {
	t.Parallel()
	line := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+lengthDigits, text) }
	lists, fetch := line("command=ls-refs\n"), line("command=fetch")
	for i, c := range []struct {
		version, request string
		want             bool
	}{
		{"version=2", lists + "0000", true},
		{"version=2", line("agent=x\n") + lists + "0001" + line("peel") + "0000", true},
		{"version=2", fetch + "0001" + line("done\n") + "0000" + lists, false},
		{"version=2", fetch + "0001" + lists + "0000", false},
		{"version=2", "0000" + lists, false},
		{"", lists + "0000", false},
	} {
		s := &Session{engine: New(Options{}), version: c.version, folder: t.TempDir()}
		a, err := s.read(strings.NewReader(c.request))
		if err != nil || a.lists != c.want {
			t.Errorf("request %d: %+v, %v", i, a, err)
		}
		_ = s.request.Close()
	}
}

func TestLinesOfRequests(t *testing.T) {
	t.Parallel()
	long := "fff0" + strings.Repeat("x", maxLineBytes-lengthDigits)
	for request, want := range map[string]string{
		"0000": "'' EOF", "0001": "'' EOF", "0002": "'' EOF", "0004": "'' EOF", "0005a0000": "'a' '' EOF", "": "EOF", "0006ab": "'ab' EOF",
		"0003": "malformed", "000": "cut", "0006a": "cut", "0006": "cut", "wxyz": "malformed", "fff1": "malformed",
		"000Aabcdef": "'abcdef' EOF", long: "'" + long[lengthDigits:] + "' EOF",
	} {
		var got []string
		lines := bufio.NewReader(strings.NewReader(request))
		for {
			line, err := readLine(lines)
			if err == nil {
				got = append(got, "'"+string(line)+"'")
				continue
			}
			for is, name := range map[error]string{io.EOF: "EOF", errCut: "cut", errMalformed: "malformed"} {
				if errors.Is(err, is) {
					got = append(got, name)
				}
			}
			break
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%.20q has %.60s, want %.60s", request, got, want)
		}
	}
}

// The day on which this fails go-git reads version 2, and readLine can go.
func TestGoGitReadsNoDelimiters(t *testing.T) {
	t.Parallel()
	lines := pktline.NewScanner(strings.NewReader("0014command=ls-refs\n00010000"))
	for lines.Scan() {
	}
	if lines.Err() == nil {
		t.Error("go-git's scanner reads the lines of version 2: use it")
	}
}
