package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/repomcp/repomcp/internal/cache"
)

const (
	// redisPatience bounds all requests to Redis together.
	redisPatience = 5 * time.Second
	// redisQuestions is the number of timed requests; the median counts.
	redisQuestions = 5
	// slowRedis is long for a request that each download makes; the server times out after 250 ms.
	slowRedis = 50 * time.Millisecond
	// oldestRedis is the oldest tested major version.
	oldestRedis = 6
	// unanswered is the consequence of a Redis that does not answer.
	unanswered = "links for one download are refused until it does"
	// fullRedis is the share of its memory from which Redis is nearly full.
	fullRedis = 0.9
)

func (e *examination) checkRedis(ctx context.Context) {
	if e.Redis == "" {
		if e.LinkKeys != "" && e.PublicURL != "" {
			e.warn("", "links for one download are good at one server only: there is no --redis", "name one that all "+
				"servers ask, if there are several")
		}
		return
	}
	options, err := cache.RedisOptions(e.Redis)
	if err != nil {
		e.fault("--redis", err.Error(), notStarted)
		return
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }() // only read
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	info, err := client.Info(ctx).Result()
	if err != nil {
		e.fault("--redis", "it does not answer: "+err.Error(), unanswered)
		return
	}
	facts := redisFacts(info)
	e.judgeRedis(facts)
	if err := e.timeRedis(ctx, client); err != nil {
		e.fault("--redis", "it stopped answering: "+err.Error(), unanswered)
	}
	if e.quiet() {
		e.ok("Redis " + facts["redis_version"] + " evicts nothing")
	}
}

// redisFacts parses the fields of INFO.
func redisFacts(info string) map[string]string {
	facts := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			facts[name] = value
		}
	}
	return facts
}

func (e *examination) judgeRedis(facts map[string]string) {
	major, _, _ := strings.Cut(facts["redis_version"], ".")
	if version, err := strconv.Atoi(major); err == nil && version < oldestRedis {
		e.warn("--redis", "version "+facts["redis_version"]+" is not tested",
			fmt.Sprintf("use %d or newer", oldestRedis))
	}
	if facts["role"] == "slave" {
		e.fault("--redis", "it is a replica, which takes no writes", "name the primary")
	}
	// Managed services may omit the field.
	if policy := facts["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		e.warn("--redis", "it may forget used links when its memory is full (maxmemory-policy "+policy+")",
			"CONFIG SET maxmemory-policy noeviction")
	}
	used, _ := strconv.ParseFloat(facts["used_memory"], 64)
	if most, _ := strconv.ParseFloat(facts["maxmemory"], 64); most > 0 && used > fullRedis*most {
		e.warn("--redis", fmt.Sprintf("%.0f %% of its memory are used", 100*used/most), "raise maxmemory")
	}
}

// timeRedis measures the latency of a request, and records the time of Redis.
func (e *examination) timeRedis(ctx context.Context, client *redis.Client) error {
	var took []time.Duration
	for range redisQuestions {
		begun := time.Now()
		theirs, err := client.Time(ctx).Result()
		if err != nil {
			return err
		}
		took = append(took, time.Since(begun))
		e.clocks["Redis"] = reading{theirs, e.now()}
	}
	slices.Sort(took)
	if middle := took[len(took)/2]; middle > slowRedis {
		e.warn("--redis", fmt.Sprintf("a question takes %v", middle.Round(time.Millisecond)),
			"have it closer to the server")
	}
	return nil
}
