package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mirrorVariable names a repository that is measured besides the generated
// ones.
const mirrorVariable = "REPOMCP_BENCH_REPO"

// settings are what the command line says.
type settings struct {
	scale  scale
	dir    string   // cache of the generated repositories
	output string   // file of the report, - for standard output
	only   []string // keys of what to measure; empty means all
	mirror string   // a repository of the user's, or ""
	// command is how to repeat the run, without the paths of this machine.
	command string

	peer, repository string // the hidden mode: be this contestant
}

func parseSettings(args []string, stderr io.Writer) (settings, error) {
	var s settings
	var quick bool
	var rounds int
	var only string
	set := flag.NewFlagSet("benchmark", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&s.dir, "dir", "", "cache of the generated repositories, several GiB (default: repomcp-bench in the user's cache folder)")
	set.StringVar(&s.output, "o", "docs/performance.md", "file whose part between the markers becomes the report, - for standard output")
	set.StringVar(&only, "only", "", "measure only these, with commas between: "+strings.Join(keys(), " "))
	set.IntVar(&rounds, "rounds", 0, "rounds of each comparison but the very long ones (default 7; with -quick 3)")
	set.BoolVar(&quick, "quick", false, "small repositories and few rounds, to try it out; the verdicts mean nothing")
	set.StringVar(&s.peer, "peer", "", "internal: be one of the contestants, on the repository given as argument")
	if err := set.Parse(args); err != nil {
		return s, err
	}
	if s.repository = set.Arg(0); (s.peer == "") != (s.repository == "") {
		return s, errors.New("arguments are flags only; see -help")
	}
	s.scale = fullScale()
	if quick {
		s.scale = quickScale()
	}
	if rounds < 0 {
		return s, errors.New("-rounds must be positive")
	}
	if rounds > 0 {
		s.scale.rounds = rounds
		s.scale.longRounds = min(s.scale.longRounds, rounds)
	}
	s.mirror = os.Getenv(mirrorVariable)
	s.command = commandLine(set)
	return s.complete(only)
}

// complete checks the selection and finds the cache folder.
func (s settings) complete(only string) (settings, error) {
	if only != "" {
		s.only = strings.Split(only, ",")
	}
	for _, key := range s.only {
		if !slices.Contains(keys(), key) {
			return s, fmt.Errorf("-only %s: there are %s", key, strings.Join(keys(), ", "))
		}
	}
	if s.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return s, fmt.Errorf("finding a cache folder, name one with -dir: %w", err)
		}
		s.dir = filepath.Join(cache, "repomcp-bench")
	}
	var err error
	s.dir, err = filepath.Abs(s.dir)
	return s, err
}

// commandLine is the command to repeat the run. Where the repositories are
// kept and where the report goes changes no figure.
func commandLine(set *flag.FlagSet) string {
	command := "go run ./internal/benchmark"
	set.Visit(func(f *flag.Flag) {
		switch {
		case f.Name == "dir" || f.Name == "o":
		case f.Value.String() == "true":
			command += " -" + f.Name
		default:
			command += " -" + f.Name + " " + f.Value.String()
		}
	})
	return command
}

// wants reports whether the selection has the key.
func (s settings) wants(key string) bool { return len(s.only) == 0 || slices.Contains(s.only, key) }

// parts of the document that the selection is about.
func (s settings) parts() []part {
	var list []part
	if len(s.only) != 1 || s.only[0] != keySearch {
		list = append(list, archivesPart)
	}
	if s.wants(keySearch) {
		list = append(list, searchPart)
	}
	return list
}
