//go:build linux

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	// maxSubjects bounds the questions that are made of a history.
	maxSubjects = 150
	// minWords is how many words a subject has that tells what a commit is about.
	minWords = 5
	// maxChanged and maxAnswers bound the files of a commit that is about one thing, and those of them that answer.
	maxChanged, maxAnswers = 8, 3
)

// beside are paths that change with what a commit is about: tests, documentation, lists of changes and versions.
var beside = regexp.MustCompile(`(?i)(^|/)(t|tests?|testdir|spec|__tests__|features|docs?|Documentation|website)/` +
	`|^\.github/|\.(md|rst|txt|yml|yaml|json|lock|po|feature|snap)$|(news|change|release|history)[^/]*$` +
	`|_test\.|(^|/)version\.[ch]$`)

// housekeeping are subjects that do not tell which files they are about.
var housekeeping = regexp.MustCompile(`(?i)\b(bump|release|typos?|revert|copyright|merge|version)\b`)

// numbers in subjects are those of issues and patches.
var numbers = regexp.MustCompile(`\(#\d+\)|#\d+|patch [\d.]+:`)

// writeSubjects makes a set of questions of the newest 8,000 commits of a mirror: a subject asks, and the files that
// the commit changed and that HEAD still has are the answer.
func writeSubjects(ctx context.Context, mirror, set string) error {
	listed, err := shell(ctx, nil, `git -C "$1" ls-tree -r -z --name-only HEAD`, mirror)
	if err != nil {
		return err
	}
	has := make(map[string]bool)
	for name := range strings.SplitSeq(listed, "\x00") {
		has[name] = true
	}
	log, err := shell(ctx, nil, `git -C "$1" log -z -n 8000 --no-merges --name-only --format=%x01%s%x00 HEAD`, mirror)
	if err != nil {
		return err
	}
	var questions []question
	for commit := range strings.SplitSeq(log, "\x01") {
		subject, names, _ := strings.Cut(commit, "\x00")
		q := question{Question: strings.TrimSpace(numbers.ReplaceAllString(subject, ""))}
		changed := strings.FieldsFunc(names, func(r rune) bool { return r == 0 || r == '\n' })
		gone := false
		for _, name := range changed {
			if !beside.MatchString(name) {
				q.Files = append(q.Files, name)
				gone = gone || !has[name]
			}
		}
		if !gone && len(q.Files) > 0 && len(q.Files) <= maxAnswers && len(changed) <= maxChanged &&
			len(strings.Fields(q.Question)) >= minWords && !housekeeping.MatchString(q.Question) {
			questions = append(questions, q)
		}
	}
	file, err := os.Create(filepath.Clean(set))
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // a short file fails to parse
	lines := json.NewEncoder(file)
	step := max(len(questions)/maxSubjects, 1)
	for i := 0; i < min(len(questions), step*maxSubjects); i += step {
		if err := lines.Encode(questions[i]); err != nil {
			return err
		}
	}
	return file.Sync()
}
