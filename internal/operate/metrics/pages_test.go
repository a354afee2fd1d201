package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/operate/metrics"
)

// everything is all metrics that there are, with the names of their labels.
func everything(t *testing.T) map[string][]string {
	t.Helper()
	root := t.TempDir()
	mirror(t, root, "one", time.Now())
	m := newMetrics(t, root)
	exercise(m)
	found := make(map[string][]string)
	for series := range scrape(t, m) {
		name, labels, _ := strings.Cut(series, "{")
		found[name] = append(found[name], "job", "instance") // which Prometheus adds
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(labels, -1) {
			found[name] = append(found[name], label[1])
		}
	}
	return found
}

// exercise has one of each thing happen that is counted.
func exercise(m *metrics.Metrics) {
	m.RequestBegan()
	m.Request(httpx.Request{Route: "/raw/", Method: "GET", Outcome: "done", Status: 200})
	m.Message(mcp.Exchange{Transport: "http", Method: "ping", Outcome: "done"})
	m.StreamBegan()
	m.StreamEnded(true)
}

var (
	metricName = regexp.MustCompile(`\b(?:repomcp|go|process)_[a-z_]+\b`)
	grouping   = regexp.MustCompile(`by \(([^)]*)\)`)
	matcher    = regexp.MustCompile(`(\w+)(?:=~|!=|!~|=)"`)
	shown      = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// The dashboard asks for what there is, by labels that it has.
func TestTheDashboardAsksForWhatThereIs(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../deploy/grafana/repomcp.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	there, queries := everything(t), 0
	ids := make(map[int]bool)
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] {
			t.Errorf("two panels have the id %d", panel.ID)
		}
		ids[panel.ID] = true
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("%s asks for nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			queries++
			checkQuery(t, there, target.Expr, target.LegendFormat)
		}
	}
	for _, name := range metricName.FindAllString(string(content), -1) {
		if there[name] == nil {
			t.Errorf("the dashboard names %s, which there is not", name)
		}
	}
	if queries < 20 || len(dashboard.Templating.List) != 3 {
		t.Errorf("%d queries and %d variables", queries, len(dashboard.Templating.List))
	}
}

func checkQuery(t *testing.T, there map[string][]string, query, legend string) {
	t.Helper()
	names := metricName.FindAllString(query, -1)
	if len(names) == 0 {
		t.Errorf("%s names no metric", query)
	}
	if strings.Count(query, "(") != strings.Count(query, ")") || strings.Count(query, "{") != strings.Count(query,
		"}") {
		t.Errorf("%s: what is opened is not closed", query)
	}
	var labels []string
	for _, group := range grouping.FindAllStringSubmatch(query, -1) {
		kept := strings.Split(group[1], ", ")
		labels = append(labels, kept...)
		for _, label := range shown.FindAllStringSubmatch(legend, -1) {
			if !slices.Contains(kept, label[1]) {
				t.Errorf("%s has no label %s for its legend", query, label[1])
			}
		}
	}
	for _, match := range matcher.FindAllStringSubmatch(query, -1) {
		labels = append(labels, match[1])
	}
	for _, name := range names {
		for _, label := range labels {
			if !slices.Contains(there[name], label) {
				t.Errorf("%s: %s has no label %s", query, name, label)
			}
		}
	}
}

// docs/operate.md has all metrics of this program, and no others.
func TestThePageHasAllMetrics(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "\n| Metric | Labels | |\n")
	table, _, _ := strings.Cut(section, "\n\n")
	documented := make(map[string]bool)
	for _, row := range strings.Split(table, "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(first, -1) {
			documented["repomcp_"+name[1]] = true
		}
	}
	there := make(map[string]bool)
	for name := range everything(t) {
		if strings.HasPrefix(name, "repomcp_") {
			there[regexp.MustCompile(`_seconds_(bucket|sum|count)$`).ReplaceAllString(name, "_seconds")] = true
		}
	}
	for name := range there {
		if !documented[name] {
			t.Errorf("docs/operate.md has nothing about %s", name)
		}
	}
	for name := range documented {
		if !there[name] {
			t.Errorf("docs/operate.md has %s, which there is not", name)
		}
	}
	if len(there) < 20 {
		t.Errorf("there are only %d metrics", len(there))
	}
}
