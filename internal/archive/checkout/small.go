package checkout

import "github.com/repomcp/repomcp/internal/git"

// SmallFiles returns the files of a folder .git besides its pack and its index, by their paths in it,
// for a program that makes such a folder itself.
func SmallFiles(ref Ref, remote Remote, cut []git.ID) (map[string][]byte, error) {
	config, err := configuration(ref, remote)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"HEAD": ref.head(), "config": config, "description": []byte(description),
		"packed-refs": ref.packed(remote.URL != ""),
	}
	if len(cut) > 0 {
		files["shallow"] = shallow(cut)
	}
	if ref.Default && remote.URL != "" {
		files["refs/remotes/origin/HEAD"] = ref.remoteHead()
	}
	return files, nil
}
