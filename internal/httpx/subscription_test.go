package httpx_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestSubscriptionToNothingIsAcknowledgedBeforeItEnds(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for i := range 200 {
		response := s.modern("subscriptions/listen",
			map[string]any{"notifications": map[string]any{"toolsListChanged": true}})
		reply := text(t, response)
		ack, result := strings.Index(reply, "notifications/subscriptions/acknowledged"), strings.Index(reply,
			`"result"`)
		if ack < 0 || result < ack {
			t.Fatalf("subscription %d: %s", i, describe(response, reply))
		}
		_ = response.Body.Close() // read to its end
	}
}

// events reads the messages of an event stream.
func events(response *http.Response) <-chan string { return eventField(response, "data") }

// eventField reads a field of the events of a stream.
func eventField(response *http.Response, name string) <-chan string {
	values := make(chan string)
	go func() {
		defer close(values)
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if value, ok := strings.CutPrefix(lines.Text(), name+": "); ok {
				values <- value
			}
		}
	}()
	return values
}

const followedBranch = "repo://repo/refs/heads/main"

// followed is a site with one repository, that tells of pushes to its branch until the test ends.
func followed(t *testing.T) (s *site, repo *gittest.Repo) {
	t.Helper()
	s = serve(t)
	repo = s.repo("repo")
	repo.Commit("main", gittest.Regular("a", "1"))
	t.Cleanup(follow(t, s.subscriptions, s.catalogue))
	return s, repo
}

// subscribe has a session watch that branch.
func (s *site) subscribe(session http.Header) {
	s.t.Helper()
	reply := text(s.t, s.post(session, map[string]any{"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe",
		"params": map[string]any{"uri": followedBranch}}))
	if !strings.Contains(reply, `"result"`) {
		s.t.Fatalf("subscribe: %s", reply)
	}
}

func TestPushIsNotifiedInBothEras(t *testing.T) {
	t.Parallel()
	s, repo := followed(t)
	modern := s.modern("subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{followedBranch}}})
	defer func() { _ = modern.Body.Close() }() // ends the stream
	modernEvents := events(modern)
	if ack := <-modernEvents; !strings.Contains(ack, "acknowledged") || !strings.Contains(ack, followedBranch) {
		t.Fatalf("first event: %s", ack)
	}

	session := s.initialize()
	old := s.get(session)
	defer func() { _ = old.Body.Close() }() // ends the stream
	oldEvents := events(old)
	s.subscribe(session)

	repo.Commit("main", gittest.Regular("a", "2"))
	want := fmt.Sprintf(`"uri":%q`, followedBranch)
	for era, stream := range map[string]<-chan string{"modern": modernEvents, "session": oldEvents} {
		if event := <-stream; !strings.Contains(event, "notifications/resources/updated") ||
			!strings.Contains(event, want) {
			t.Errorf("%s era: %s", era, event)
		}
	}
}

// A connection may be lost with events in it, and the client be back before the server knows.
func TestEventStreamResumesAfterTheLastEvent(t *testing.T) {
	t.Parallel()
	s, repo := followed(t)
	session := s.initialize()
	s.subscribe(session)
	stream := s.get(session)
	ids := eventField(stream, "id")
	var seen [2]string
	for i := range seen {
		repo.Commit("main", gittest.Regular("a", fmt.Sprint("text ", i)))
		seen[i] = <-ids
	}
	session.Set("Last-Event-Id", seen[0])
	for range 2 { // neither has brought the second event to the client
		next := s.get(session)
		if id := <-eventField(next, "id"); id != seen[1] {
			t.Errorf("after event %s follows %s, want %s", seen[0], id, seen[1])
		}
		if id, more := <-ids; more {
			t.Errorf("the earlier stream goes on with event %s", id)
		}
		_ = stream.Body.Close()
		stream = next
	}
	_ = stream.Body.Close()
}
