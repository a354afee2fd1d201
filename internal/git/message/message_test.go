package message_test

import (
	"testing"

	"github.com/repomcp/repomcp/internal/git/message"
)

func TestSubjects(t *testing.T) {
	for text, want := range map[string][2]string{
		"":                            {"", ""},
		"subject":                     {"subject", ""},
		"\n \t\nsubject\n":            {"subject", ""},
		"over\ntwo lines  \n\nbody\n": {"over two lines", "body\n"},
		"one\r\n\r\nbody\r\n":         {"one", "body\r\n"},
		"  kept\nin\n \n\n b":         {"  kept in", "\n b"},
	} {
		subject, rest := message.CutSubject(message.SkipBlankLines(text))
		if got := [2]string{subject, rest}; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
