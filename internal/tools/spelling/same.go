package spelling

import (
	"path"
	"strings"
)

// Same returns the known names that say the same as another one: with another case, or with another
// way to write the version. A name that is only spelt alike may be of something else, and is not
// among them. Names of versions may begin with the name of the product. The names returned are
// equally close; names that are less close are left out.
func Same(name, product string, known []string) []string {
	product = strings.ToLower(product)
	wanted := versionOf(name, product)
	var classes [3][]string
	for _, k := range known {
		switch other := versionOf(k, product); {
		case strings.EqualFold(k, name):
			classes[0] = append(classes[0], k)
		case wanted.digits == "" || wanted.suffix != other.suffix:
		case wanted.digits == other.digits:
			classes[1] = append(classes[1], k)
		case wanted.padded() == other.padded():
			classes[2] = append(classes[2], k)
		}
	}
	for _, class := range classes {
		if len(class) > 0 {
			return class
		}
	}
	return nil
}

// SamePaths returns the known paths that say the same as another one: with another case, or as the
// last part alone.
func SamePaths(name string, known []string) (same []string) {
	for _, k := range known {
		if strings.EqualFold(k, name) || !strings.Contains(name, "/") && strings.EqualFold(path.Base(k), name) {
			same = append(same, k)
		}
	}
	return same
}
