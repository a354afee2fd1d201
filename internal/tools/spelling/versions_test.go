package spelling

import "testing"

func TestPreReleasesAreNoReleases(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"v2.29.0": true, "v2.29.0-rc0": false, "3.13.0b1": false, "3.13.0a7": false, "3.13.0": true, "v5.10-rc1": false,
		"go1.21rc2": false, "go1.21.0": true, "jdk-17+35": true, "release-1.0": true, "beta-1.0": true, "1.0-beta": false,
		"5.3.0.RELEASE": true, "5.3.0.M1": false, "5.3.0.Final": true, "4.1.0.CR1": false, "1.0-SNAPSHOT": false,
		"v1.0.0-alpha.1": false, "2.0.dev1": false, "nightly": false, "first": false, "v1": true, "v1.2.3-1": true,
		"v22.1.0-lts": true, "team/app/v1.0.0": true, "team/app/v1.0.0-preview.3": false, "": false, "1.2c": false,
		"v1.0-pre": false, "2026-01-31": true,
	} {
		if got := IsRelease(name); got != want {
			t.Errorf("%q is a release: %t, want %t", name, got, want)
		}
	}
}
