package main

import (
	"fmt"
	"math/rand/v2"
)

const (
	filesPerFolder = 100
	// smallFileCommits change a part of the small files each.
	smallFileCommits   = 4
	smallFilesPerShare = 5
)

// words are what the small files are made of.
func words(r *rand.Rand) []string {
	const letters = "etaoinshrdlucmfwypvbgkjqxz"
	list := make([]string, 2_000)
	for i := range list {
		word := make([]byte, 3+r.IntN(8))
		for j := range word {
			word[j] = letters[min(r.IntN(len(letters)), r.IntN(len(letters)))]
		}
		list[i] = string(word)
	}
	return list
}

// sentences appends lines of words until the text has the size. Common words
// are common, so that it compresses as text does.
func sentences(text []byte, size int, vocabulary []string, r *rand.Rand) []byte {
	for len(text) < size {
		for range 4 + r.IntN(10) {
			rank := min(r.IntN(len(vocabulary)), r.IntN(len(vocabulary)), r.IntN(len(vocabulary)))
			text = append(append(text, vocabulary[rank]...), ' ')
		}
		text[len(text)-1] = '\n'
	}
	return text[:size]
}

// smallFiles makes files of 200 to 2,000 bytes. A hundred names come in every
// folder, and the files of one name have much in common, as translations and
// package descriptions do: git compares files of the same name first, so it
// packs nearly all of them as deltas, in chains of up to a dozen.
func smallFiles(count int) []file {
	r := generator(1)
	vocabulary := words(r)
	common := make([][]byte, filesPerFolder)
	for i := range common {
		common[i] = sentences(nil, 1_500, vocabulary, r)
	}
	files := make([]file, count)
	for i := range files {
		folder, name := i/filesPerFolder, i%filesPerFolder
		size := 200 + r.IntN(1_801)
		text := append([]byte(nil), common[name][:min(len(common[name]), 2*size/3)]...)
		files[i] = file{
			path:    fmt.Sprintf("part%02d/folder%03d/name%02d.txt", folder/50, folder, name),
			content: sentences(text, size, vocabulary, r),
		}
	}
	return files
}

// writeSmallFiles imports the files and some commits that change a line in a
// share of them.
func writeSmallFiles(i *importer, files []file) {
	r := generator(2)
	i.commit()
	for _, f := range files {
		i.put(f)
	}
	for commit := range smallFileCommits {
		i.commit()
		for at := commit; at < len(files); at += smallFilesPerShare {
			f := &files[at]
			line := fmt.Sprintf("changed by commit %d: %x\n", commit, r.Uint32())
			f.content = append([]byte(line), f.content...)
			i.put(*f)
		}
	}
}
