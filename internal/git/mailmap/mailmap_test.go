package mailmap_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/mailmap"
	"github.com/repomcp/repomcp/internal/git/snapshottest"
	"github.com/repomcp/repomcp/internal/gittest"
)

var (
	names = []string{"", "Joe", "joe", "JOE", "Joe R.", "Jane Doe", " Ünï ", "Ünï", "#x", "a\tb"}
	mails = []string{"", "joe@x", "JOE@X", "bugs@x", "jane@y", " jane@y", "ü@x", "#@x"}
	junk  = []string{"", "# comment <a> <b>", "no address", "<", "<>", "> <", "Joe <joe@x", "Joe joe@x>", "\r",
		"A <b> C <d> E <f>"}
)

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// written is a mailmap in which lines contradict each other.
func written(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		switch r.IntN(6) {
		case 0:
			b.WriteString(pick(r, junk))
		case 1:
			fmt.Fprintf(&b, "%s <%s>", pick(r, names), pick(r, mails))
		case 2:
			fmt.Fprintf(&b, "<%s> <%s>", pick(r, mails), pick(r, mails))
		default:
			fmt.Fprintf(&b, "%s <%s> %s <%s>", pick(r, names), pick(r, mails), pick(r, names), pick(r, mails))
		}
		b.WriteString(pick(r, []string{"\n", "\n", "\r\n", " # more\n", "\n\n"}))
	}
	return b.String()
}

func TestPeopleAreThoseOfCheckMailmap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	compared, replaced := 0, 0
	for range gittest.Sample(gittest.Volume(40, 2000)) {
		repo := gittest.New(t)
		content := written(r)
		repo.Commit("main", gittest.Regular(".mailmap", content))
		people := read(t, repo)
		var asked []string
		for _, name := range []string{"Joe", "joe", "Joe R.", "Jane Doe", "Ünï", "Nobody"} {
			for _, mail := range mails {
				asked = append(asked, name+" <"+mail+">")
			}
		}
		answers := strings.Split(strings.TrimSuffix(repo.GitInput([]byte(strings.Join(asked, "\n")+"\n"), "-c",
			"mailmap.blob=main:.mailmap", "check-mailmap", "--stdin"), "\n"), "\n")
		for i, contact := range asked {
			name, mail, _ := strings.Cut(strings.TrimSuffix(contact, ">"), " <")
			name, mail = people.Lookup(name, mail)
			got := strings.TrimLeft(name+" <"+mail+">", " ")
			if got != answers[i] {
				t.Errorf("%q: %q is %q, git says %q", content, contact, got, answers[i])
			}
			if compared++; got != contact {
				replaced++
			}
		}
	}
	if compared < gittest.Sample(1500) || replaced < gittest.Sample(200) {
		t.Errorf("only %d people were compared, of whom %d were replaced", compared, replaced)
	}
	t.Logf("%d people, %d replaced", compared, replaced)
}

func read(t *testing.T, repo *gittest.Repo) *mailmap.Map {
	t.Helper()
	people, err := mailmap.Read(snapshottest.Open(t, repo.Dir), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return people
}
