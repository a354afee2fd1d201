package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
)

// updateSteps are the steps of a branch whose bytes are compared.
const updateSteps = 200

// updates are the bytes of one step, by what is sent. What git fetch receives is a
// thin pack of what the server has and the client has not; it is made here as the
// server makes it. $HEAD is the commit and $BASE its first parent.
var updates = []contestant{
	{name: "pack of `git fetch`", command: `printf '%s\n^%s\n' $HEAD $BASE |
		git --git-dir "$REPO" pack-objects --thin --revs --stdout --delta-base-offset -q`},
	{name: "tar.zst with `delta=patch`, as sync takes it", command: update("tar.zst", "&delta=patch")},
	{name: "tar.gz with `delta=patch`", command: update("tar.gz", "&delta=patch")},
	{name: "tar.zst", command: update("tar.zst", "")},
	{name: "tar.gz", command: update("tar.gz", "")},
}

func update(format, options string) string {
	return `exec curl -sS --fail "$URL/archive/` + repositoryName + `/$HEAD.` + format +
		`?profile=full&fallback=full&base=$BASE` + options + `"`
}

func (b *bench) wantsUpdates(c corpus) bool {
	return slices.Contains([]string{"b", "mirror"}, c.key) && b.wants(c.key, "updates")
}

// compareUpdates tells of the bytes of the last steps of a repository's history.
func (b *bench) compareUpdates(ctx context.Context, c corpus, server *server) error {
	if !b.wantsUpdates(c) {
		return nil
	}
	b.progress("%s: bytes of updates", c.title)
	environment := append(isolated(), "REPO="+c.dir(), "URL="+server.url)
	run := func(command string, more ...string) ([]byte, error) {
		//nolint:gosec // our own commands
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Env = slices.Concat(environment, more)
		return cmd.Output()
	}
	log, err := run(fmt.Sprintf(`git --git-dir "$REPO" rev-list --first-parent -n %d HEAD`, updateSteps+1))
	commits := strings.Fields(string(log))
	if err != nil || len(commits) < 2 {
		return errors.Join(err, errors.New("there are no steps"))
	}
	bytes := make([][]float64, len(updates))
	for i, base := range commits[1:] {
		for k, one := range updates {
			sent, err := run(one.command, "HEAD="+commits[i], "BASE="+base)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			bytes[k] = append(bytes[k], float64(len(sent)))
		}
	}
	b.updates += fmt.Sprintf("\n### %s: bytes of the last %d steps of its branch\n\n", c.title, len(commits)-1) +
		"| | median | × | × in nine of ten | all |\n|---|--:|--:|--:|--:|\n"
	for k, one := range updates {
		b.updates += updateRow(one.name, bytes[k], bytes[0])
	}
	return nil
}

func updateRow(name string, bytes, first []float64) string {
	ratios, sum := make([]float64, len(bytes)), 0.0
	for i := range bytes {
		ratios[i], sum = bytes[i]/first[i], sum+bytes[i]
	}
	slices.Sort(ratios)
	ninth := ratios[int(math.Ceil(0.9*float64(len(ratios))))-1]
	return fmt.Sprintf("| %s | %.0f | %s | %s | %.0f |\n", name, median(bytes), figure(median(ratios)), figure(ninth), sum)
}
