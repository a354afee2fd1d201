package main

// scale is how large the repositories are and how often each is measured.
type scale struct {
	name         string   // of its folder in the cache
	tree         []string // folders of Go's sources that make (a) and (b); none means all
	small        []string // those that make the small repository and (d)
	commits      int      // of (b)
	smallCommits int
	files        int   // of (c)
	curve        []int // numbers of files measured besides
	bigBytes     int64 // of each file of (e)

	rounds     int
	longRounds int   // of (e) and of archives written at once
	crowds     []int // how many archives are written at once
}

func fullScale() scale {
	return scale{
		name: "full", small: []string{"archive", "net", "text"}, commits: 500, smallCommits: 50,
		files: 100_000, curve: []int{1_000, 10_000}, bigBytes: 1 << 30,
		rounds: 7, longRounds: 3, crowds: []int{1, 8, 50},
	}
}

func quickScale() scale {
	return scale{
		name: "quick", tree: []string{"archive", "encoding", "go", "net"}, small: []string{"encoding"}, commits: 30, smallCommits: 10,
		files: 3_000, curve: []int{100, 1_000}, bigBytes: 32 << 20,
		rounds: 3, longRounds: 3, crowds: []int{1, 8},
	}
}
