package main

import (
	"errors"
	"time"
)

// results are all that a run found.
type results struct {
	git          string // version
	took         time.Duration
	repositories []repository
}

// repository is what a run found about one repository.
type repository struct {
	corpus   corpus
	facts    facts
	archives series
	readers  series
	crowds   map[int]series // by how many archives were written at once
	searches []searched
}

// facts describe a repository.
type facts struct {
	files    int // of HEAD
	objects  int
	tarBytes int64
	same     bool // git and repomcp make the same tar
}

// find gives the repository of a key that is not part of the curve only.
func (r results) find(key string) (repository, bool) {
	for _, found := range r.repositories {
		if found.corpus.key == key {
			return found, true
		}
	}
	return repository{}, false
}

// failures of contestants, so that a run that lacks figures does not end as if
// it had all.
func (r results) failures() error {
	var err error
	for _, found := range r.repositories {
		err = errors.Join(err, found.archives.failures(), found.readers.failures())
		for _, s := range found.crowds {
			err = errors.Join(err, s.failures())
		}
		for _, s := range found.searches {
			err = errors.Join(err, s.series.failures())
		}
	}
	return err
}
