package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

const (
	// held is how many downloads stand still while a replica is killed.
	held = 12
	// heldBytes of each are more than the sockets between a replica and a client
	// that does not read take over two connections.
	heldBytes = 24 << 20
	// prefixes are how many archives of one commit the load asks for: some are
	// made while a replica dies.
	prefixes = 16
)

// fillOrigin has a small tree on main, and a large one on the branches held0 to
// held11.
func fillOrigin(repo *gittest.Repo) {
	files := []gittest.File{gittest.Regular("noise", gittest.Noise(1<<20)), gittest.Executable("run.sh", "#!/bin/sh\n"),
		gittest.Symlink("link", "noise")}
	for i := range 200 {
		files = append(files, gittest.Regular(fmt.Sprintf("dir%d/file%d.txt", i%7, i),
			strings.Repeat(fmt.Sprintln("line", i), i)))
	}
	repo.Commit("main", files...)
	id := repo.Commit("large", gittest.Regular("large", gittest.Noise(heldBytes)))
	for i := range held {
		repo.Git("update-ref", fmt.Sprint("refs/heads/held", i), id)
	}
}

// TestReplicasServeAsOne is the deployment of deploy/ with real processes: what
// comes is what git makes, whichever replica answers, also when one of them is
// killed, and what cannot be had is refused visibly.
func TestReplicasServeAsOne(t *testing.T) {
	gittest.Long(t)
	s := newStory(t)
	for _, chapter := range []func(*story){
		(*story).everyWayGivesTheArchive, (*story).objectsAreRedirectedTo, (*story).killUnderLoad, (*story).oneRedeems,
		(*story).laggingReplica, (*story).withoutRedisAndBucket,
	} {
		chapter(s)
	}
}

func (s *story) everyWayGivesTheArchive() {
	var all sync.WaitGroup
	var loads atomic.Int64
	times := gittest.Volume(4, 8)
	for way := range ways {
		for i := range times {
			all.Go(func() {
				a := asked{revision: "main", format: []string{"tar", "tar.gz"}[i%2], prefix: []string{"", "p/"}[i/2%2]}
				if err := s.insist(s.balancer.url(), way, a); err != nil {
					s.t.Errorf("%s, %v: %v", way, a, err)
				}
				loads.Add(1)
			})
		}
	}
	all.Wait()
	var by []int
	for _, replica := range s.replicas {
		by = append(by, replica.answered(s.t))
	}
	if loads.Load() != int64(times*len(ways)) || slices.Contains(by, 0) {
		s.t.Errorf("%d downloads, the replicas answered %v", loads.Load(), by)
	}
}

// objectsAreRedirectedTo has one replica make an archive, and the others send
// clients to it. Whom a busy machine answers too late for that makes it itself:
// then another archive is asked for.
func (s *story) objectsAreRedirectedTo() {
	tries := 0
	gittest.Await(s.t, "all replicas redirect", func() bool {
		tries++
		return s.redirectTo(asked{revision: "main", format: "tar.gz", prefix: fmt.Sprintf("redirected%d/", tries)})
	})
}

func (s *story) redirectTo(a asked) (all bool) {
	s.t.Helper()
	all = true
	before := s.seals()
	if err := s.insist(s.replicas[0].url(), "plain", a); err != nil {
		s.t.Fatal(err)
	}
	gittest.Await(s.t, "the archive is in the bucket", func() bool { return s.seals() > before })
	for _, way := range []string{"plain", "stream", "downloadUrl"} {
		for _, replica := range s.replicas[1:] {
			follows := s.follows.Load()
			if err := s.insist(replica.url(), way, a); err != nil {
				s.t.Errorf("%s: %v", way, err)
			}
			// A downloadUrl is of the balancer, which may pick the first.
			if s.follows.Load() != follows+1 && way != "downloadUrl" {
				s.t.Logf("%s: no redirect", way)
				all = false
			}
		}
	}
	return all
}

// holder is a replica that has some of the downloads that stand still, and not all: of
// those the one with the fewest.
func (s *story) holder() (victim *server) {
	s.t.Helper()
	gittest.Await(s.t, "downloads stand still at two replicas", func() bool {
		all, fewest := 0, held+1
		for _, replica := range s.replicas {
			n := replica.stalled(s.t)
			if all += n; n > 0 && n < fewest {
				victim, fewest = replica, n
			}
		}
		return all > fewest
	})
	return victim
}

func (s *story) killUnderLoad() {
	downloads := s.hold()
	victim := s.holder()
	c := s.gather(6)
	gittest.Await(s.t, "downloads before the kill", func() bool { return c.good.Load() >= 20 })
	victim.kill(s.t)
	before := c.good.Load()
	var reading sync.WaitGroup
	for _, d := range downloads {
		reading.Go(func() { s.rest(d) })
	}
	reading.Wait()
	whole, resumed := 0, 0
	for _, d := range downloads {
		switch {
		case d.err == nil:
			whole++
		case errors.Is(d.err, errWrong):
			s.t.Errorf("%s: %v", d.url, d.err)
		default:
			if err := patiently(func() error { return s.resume(d) }); err != nil {
				s.t.Errorf("%s, the rest from %d of %d: %v", d.url, d.at, len(s.want("large", "")), err)
				continue
			}
			resumed++
		}
	}
	gittest.Await(s.t, "downloads after the kill", func() bool { return c.good.Load() >= before+40 })
	back := victim.answered(s.t)
	victim.start(s.t)
	gittest.Await(s.t, "the replica is asked again", func() bool { return victim.answered(s.t) > back })
	close(c.stop)
	c.all.Wait()
	s.cameBack(victim)
	s.t.Logf("%d downloads went on, %d broke and were resumed; of the load %d were whole and %d failed visibly; %d "+
		"redirects",
		whole, resumed, c.good.Load(), c.visible.Load(), s.follows.Load())
	if whole == 0 || resumed == 0 {
		s.t.Errorf("%d downloads went on and %d were resumed: the kill proves nothing", whole, resumed)
	}
}

// cameBack asks a replica that was killed for what it may have been making.
func (s *story) cameBack(victim *server) {
	for i := range prefixes {
		a := asked{revision: "main", format: "tar", prefix: fmt.Sprintf("load%d/", i)}
		if err := s.insist(victim.url(), "plain", a); err != nil {
			s.t.Errorf("%v of the replica that came back: %v", a, err)
		}
	}
}

// oneRedeems uses a link for one download everywhere at once.
func (s *story) oneRedeems() {
	gittest.Await(s.t, "Redis answers in time", func() bool {
		won, gone, refused := s.redeemAtOnce()
		if won > 1 || won+gone+refused != 100 || refused == 0 && won != 1 {
			s.t.Errorf("one link: %d downloads, %d are told that it was used, %d that it cannot be known", won, gone,
				refused)
		}
		return refused == 0
	})
}

func (s *story) redeemAtOnce() (won, gone, refused int64) {
	s.t.Helper()
	link, err := s.downloadURL(s.balancer.url(), asked{revision: "main", format: "tar.gz"})
	if err != nil {
		s.t.Fatal(err)
	}
	var statuses [600]atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			status, _ := s.fetch(at(s.t, link, append([]*server{s.balancer}, s.replicas...)[i%4]))
			statuses[status].Add(1)
		})
	}
	all.Wait()
	won = statuses[http.StatusOK].Load() + statuses[http.StatusFound].Load()
	return won, statuses[http.StatusNotFound].Load(), statuses[http.StatusServiceUnavailable].Load()
}

// laggingReplica has a push reach all mirrors but the last.
func (s *story) laggingReplica() {
	s.origin.Commit("late", gittest.Regular("late", gittest.Noise(1<<20)))
	first, last := s.replicas[0], s.replicas[2]
	s.follow(s.replicas[:2]...)
	a := asked{revision: "late", format: "tar.gz"}
	link, err := s.downloadURL(first.url(), a)
	if err != nil {
		s.t.Fatal(err)
	}
	if status, header := s.fetch(at(s.t, link, last)); status != http.StatusServiceUnavailable ||
		header.Get("Retry-After") == "" {
		s.t.Errorf("a commit that has not come: %d, %v", status, header)
	}
	before := s.seals()
	if err := s.insist(first.url(), "plain", a); err != nil {
		s.t.Error(err)
	}
	gittest.Await(s.t, "the archive is in the bucket", func() bool { return s.seals() > before })
	var response *http.Response
	gittest.Await(s.t, "the bucket answers in time", func() bool {
		if response, err = s.client.Do(getRequest(s.t, at(s.t, link, last))); err != nil {
			s.t.Fatal(err)
		}
		if response.StatusCode == http.StatusServiceUnavailable {
			_ = response.Body.Close() // it is an error's
			return false
		}
		return true
	})
	defer func() { _ = response.Body.Close() }()
	if err := s.check(response, a); err != nil || response.Request.URL.Host != last.address {
		s.t.Errorf("a commit that has not come, and is in the bucket: %s, %v", response.Status, err)
	}
	s.follow(last)
	if err := s.insist(last.url(), "downloadUrl", a); err != nil {
		s.t.Errorf("after the commit has come: %v", err)
	}
}

// withoutRedisAndBucket ends what replicas share: only links for one download
// need it.
func (s *story) withoutRedisAndBucket() {
	link, err := s.downloadURL(s.balancer.url(), asked{revision: "main", format: "tar.gz"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.redis.kill(s.t)
	if status, header := s.fetch(link); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		s.t.Errorf("a link for one download without Redis: %d, %v", status, header)
	}
	s.gateway.kill(s.t)
	start := time.Now()
	for i, way := range []string{"plain", "stream", "httpUrl", "plain", "stream", "httpUrl"} {
		if err := s.load(s.balancer.url(), way, asked{revision: "main", format: "tar.gz",
			prefix: fmt.Sprintf("alone%d/", i)}); err != nil {
			s.t.Errorf("%s without Redis and the bucket: %v", way, err)
		}
	}
	s.t.Logf("6 downloads without Redis and the bucket took %v", time.Since(start))
	s.redisIsLogged("Redis has trouble")
	s.redis.start(s.t)
	gittest.Await(s.t, "links are redeemed again", func() bool {
		status, _ := s.fetch(link)
		return status == http.StatusOK
	})
}

// redisIsLogged looks for what go-redis says in the logs, where it belongs.
func (s *story) redisIsLogged(message string) {
	s.t.Helper()
	found := 0
	for _, replica := range s.replicas {
		log, err := os.ReadFile(replica.log)
		if err != nil {
			s.t.Fatal(err)
		}
		found += strings.Count(string(log), `"msg":"`+message+`"`)
		if strings.Contains(string(log), "\nredis: ") {
			s.t.Errorf("go-redis writes past the log of %s", replica.address)
		}
	}
	if found == 0 {
		s.t.Errorf("no log has %q", message)
	}
}
