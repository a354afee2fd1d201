package subst

import "github.com/repomcp/repomcp/internal/repos"

// automatic asks for abbreviations of git's default length.
const automatic = -1

// short writes an abbreviated id. The same one is asked for by every
// placeholder of every file, so that it is remembered.
func (f *formatter) short(out *buffer, id repos.ID) {
	if err := f.ctx.Err(); err != nil {
		f.fail(err)
		return
	}
	abbreviation, known := f.shorts[id]
	if !known {
		var err error
		if abbreviation, err = f.source.Abbreviate(id, automatic); err != nil {
			f.fail(err)
			return
		}
		f.shorts[id] = abbreviation
	}
	out.add(abbreviation)
}
