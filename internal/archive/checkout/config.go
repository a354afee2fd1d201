package checkout

import (
	"bytes"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// configuration returns the content of config. Under it git believes an index whose entries have only
// sizes, and times in whole seconds.
func configuration(ref Ref, remote Remote) ([]byte, error) {
	c := config.New()
	version := "0"
	if remote.Promises {
		version = "1" // git reads extensions only then
	}
	for _, setting := range [][2]string{
		{"repositoryformatversion", version}, {"filemode", "true"}, {"bare", "false"}, {"logallrefupdates", "true"},
		{"checkStat", "minimal"}, {"trustctime", "false"},
	} {
		c.AddOption("core", "", setting[0], setting[1])
	}
	if remote.Promises {
		c.AddOption("extensions", "", "partialClone", "origin")
	}
	if remote.URL != "" {
		c.AddOption("remote", "origin", "url", remote.URL)
		if remote.PushURL != "" {
			c.AddOption("remote", "origin", "pushurl", remote.PushURL)
		}
		c.AddOption("remote", "origin", "fetch", ref.fetch())
		if remote.Promises {
			c.AddOption("remote", "origin", "promisor", "true")
			c.AddOption("remote", "origin", "partialclonefilter", "blob:none")
		}
		if branch := ref.branch(); branch != "" {
			c.AddOption("branch", branch, "remote", "origin")
			c.AddOption("branch", branch, "merge", ref.Name)
		}
	}
	var out bytes.Buffer
	err := config.NewEncoder(&out).Encode(c)
	return out.Bytes(), err
}
