package main

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	const commit = "6fa1d9c12cdfe1d1b764c8c8771acb9207980bcc"
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: commit}
	for name, c := range map[string]struct {
		release string
		info    *debug.BuildInfo
		want    string
	}{
		"a release":                  {"v1.2.3", build("(devel)", revision), "v1.2.3"},
		"a release without a record": {"v1.2.3", nil, "v1.2.3"},
		"go install":                 {"", build("v1.2.3"), "v1.2.3"},
		"a clone": {"", build("v0.0.0-20261122160000-6fa1d9c12cdf+dirty", revision),
			"v0.0.0-20261122160000-6fa1d9c12cdf+dirty"},
		"a clone of an older toolchain": {"", build("(devel)", revision), "devel+6fa1d9c12cdf"},
		"a folder without git":          {"", build("(devel)"), "devel"},
		"nothing recorded":              {"", nil, "devel"},
	} {
		if got := versionOf(c.release, c.info); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
	got, changed := commitOf(build("", revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"}))
	if got != commit || !changed {
		t.Errorf("%s, %t", got, changed)
	}
}
