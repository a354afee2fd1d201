#!/bin/sh
# Rebuilds the sample repositories, byte for byte: rebuild.sh [TARGET_DIR]
#
# Without an argument it replaces the ones beside this script. Everything is
# built in a scratch folder first, so that a failure leaves the old ones alone.
# README.md says what each repository is for; testrepos_test.go proves that
# what is committed is what this script makes.
set -eu

main() {
	samples=$(cd "$(dirname "$0")" && pwd)
	target=${1:-$samples}
	forget_the_machine

	build hello.git main
	build history.git main
	build fork.git main
	build team/tools.git main
	build team/tools/builder.git main
	build modes.git main
	build names.git main
	build attributes.git main
	build media.git main
	build large-tree.git main
	build refs.git main
	build loose.git main
	build detached.git main
	build trunk.git trunk
	build empty.git main

	git version >"$built/BUILT_WITH"
	install_into "$target"
}

# --- The samples ------------------------------------------------------------
#
# For each repository, fill_NAME runs inside the new bare repository, and
# NAME_history prints its commits for git fast-import.

# The one that the README of the project uses: what a small project looks like.
fill_hello() {
	describe 'Greets people by name'
	import hello_history
	git tag first main~3
	git tag -a -m 'The first release' v1.0.0 main~1
	pack
}

hello_history() {
	commit main 'Say hello'
	file README.md <<-'END'
		# hello

		A program that says hello.
	END
	program bin/hello <<-'END'
		#!/usr/bin/env node
		console.log('Hello!')
	END

	commit main 'Greet people by name'
	program bin/hello <<-'END'
		#!/usr/bin/env node
		import { greeting } from '../src/greeting.js'

		console.log(greeting(process.argv[2]))
	END
	file src/greeting.js <<-'END'
		// greeting is what to say to somebody, or to everybody.
		export function greeting(name = 'world') {
		  return `Hello, ${name}!`
		}
	END
	file package.json <<-'END'
		{
		  "name": "hello",
		  "version": "1.0.0",
		  "type": "module",
		  "bin": { "hello": "bin/hello" },
		  "scripts": { "test": "node --test" }
		}
	END

	commit main 'Explain and test the greeting'
	file README.md <<-'END'
		# hello

		A program that says hello to whom you like:

		    $ hello Ada
		    Hello, Ada!

		See [the guide](docs/guide.md) for more.
	END
	file docs/guide.md <<-'END'
		# Guide

		Without a name, the whole world is greeted.
	END
	link docs/README.md guide.md
	file src/greeting.test.js <<-'END'
		import assert from 'node:assert/strict'
		import { test } from 'node:test'
		import { greeting } from './greeting.js'

		test('everybody is greeted by default', () => {
		  assert.equal(greeting(), 'Hello, world!')
		})
	END

	commit feature/login 'Greet whoever is logged in' main
	file src/login.js <<-'END'
		// login is the name of the person at the keyboard.
		export function login() {
		  return process.env.USER
		}
	END

	commit main 'Say how to run the tests'
	file docs/guide.md <<-'END'
		# Guide

		Without a name, the whole world is greeted.

		Run the tests with `npm test`.
	END
}

# Something to page through: many small commits, merges of two and of three
# branches, a rename, a revert, an empty commit, another time zone, a clock
# that went backwards, a message in Latin-1, and a second root.
fill_history() {
	describe 'A cookbook with a long history'
	import history_history
	pack
}

history_history() {
	changes=
	for dish in bread soup salad dumplings curry pie; do
		commit main "Add $dish"
		recipe "$dish" 3
		note_change "Add $dish"
		for steps in 4 5 6; do
			commit main "Refine $dish, step $steps"
			recipe "$dish" "$steps"
		done

		commit "idea/$dish" "Try $dish without salt" main
		printf 'No salt in %s.\n' "$dish" | file "ideas/$dish.txt"

		merge main "Merge branch 'idea/$dish'" "idea/$dish"
		printf 'No salt in %s.\n' "$dish" | file "ideas/$dish.txt"
		note_change "Try $dish without salt"
	done

	commit idea/sweet 'Think of something sweet' main
	echo 'Something sweet.' | file ideas/sweet.txt
	commit idea/sour 'Think of something sour' main
	echo 'Something sour.' | file ideas/sour.txt
	merge main 'Merge two ideas at once' idea/sweet idea/sour
	echo 'Something sweet.' | file ideas/sweet.txt
	echo 'Something sour.' | file ideas/sour.txt

	commit main 'Move the soup to the starters'
	rename recipes/soup.md starters/soup.md

	commit main 'Add dessert'
	recipe dessert 2
	commit main 'Revert "Add dessert"'
	delete recipes/dessert.md

	commit main 'Taste everything again; nothing changed'

	written_by 'Zo\303\253 \303\205ngstr\303\266m <zoe@example.com>' +0545
	commit main 'Ask a guest from another time zone'
	recipe curry 7
	written_by 'A U Thor <author@example.com>' +0000

	clock=$((clock - 86400))
	commit main 'Commit with a clock that went backwards'
	recipe pie 7

	encoding=ISO-8859-1
	commit main "$(printf 'Saut\351 the onions first\n\nThis message is in Latin-1, as its header says.')"
	recipe bread 7
	encoding=

	commit pages 'Start the web site, with a history of its own'
	echo '<h1>Cookbook</h1>' | file index.html
}

recipe() { # NAME STEPS
	{
		printf '# %s\n\n' "$1"
		step=1
		while [ "$step" -le "$2" ]; do
			printf '%s. Step %s of the %s.\n' "$step" "$step" "$1"
			step=$((step + 1))
		done
	} | file "recipes/$1.md"
}

note_change() { # TEXT
	changes="$changes- $1
"
	printf '%s' "$changes" | file CHANGES.md
}

# Borrows the objects of history.git, as a fork on a forge does, by a relative
# path that stays inside the served folder.
fill_fork() {
	describe 'A fork of history.git that shares its objects'
	mkdir -p objects/info
	echo ../../history.git/objects >objects/info/alternates
	git update-ref refs/heads/main "$(git -C ../history.git rev-parse refs/heads/main)"
	import fork_history
	pack --local
}

fork_history() {
	commit fix/salt 'Put the salt back' main
	recipe bread 8
}

# A name that another repository's name starts with.
fill_team_tools() {
	describe 'What the tools of the team have in common'
	import tools_history
	pack
}

tools_history() {
	commit main 'List the tools'
	printf '# Tools\n\n* [builder](builder/README.md)\n' | file README.md
	# In a URI this folder looks like the repository team/tools/builder.
	echo 'The builder has a repository of its own.' | file builder/README.md
}

# Three levels deep.
fill_team_tools_builder() {
	describe 'Builds what the team ships'
	import builder_history
	git tag -a -m 'Builder 0.1' v0.1.0 main
	pack
}

builder_history() {
	commit main 'Build with one command'
	echo '# builder' | file README.md
	printf '#!/bin/sh\nexec make all\n' | program build
}

# One of each kind of tree entry.
fill_modes() {
	describe 'Executables, symbolic links, submodules'
	import modes_history "$(git -C ../team/tools/builder.git rev-parse refs/heads/main)"
	pack
}

modes_history() { # SUBMODULE_COMMIT
	commit main 'Show one of each kind of entry'
	echo 'A plain file.' | file plain.txt
	file empty.txt </dev/null
	printf '#!/bin/sh\necho run\n' | program run.sh
	echo 'Something to point at.' | file folder/target.txt

	link links/to-file ../folder/target.txt
	link links/to-folder ../folder
	link links/to-nothing missing.txt
	link links/to-itself to-itself
	# No reader may follow these two: they lead out of the tree.
	link links/out-relative ../../../../../../etc/passwd
	link links/out-absolute /etc/passwd

	file .gitmodules <<-'END'
		[submodule "builder"]
			path = vendor/builder
			url = ../team/tools/builder.git
	END
	submodule vendor/builder "$1"
	# Somebody forgot to add this one to .gitmodules; nobody has its commit.
	submodule vendor/forgotten 1234567890123456789012345678901234567890
}

# File names that break readers, archives, shells, URIs and web pages.
fill_names() {
	describe 'File names that break things'
	import names_history
	pack
}

names_history() {
	commit main 'Collect difficult file names'

	named 'plain.txt'
	named 'caf\303\251.txt'                        # é as one character
	named 'cafe\314\201.txt'                       # é as e and an accent: the same to macOS
	named '\346\227\245\346\234\254/\343\203\225\343\202\241\343\202\244\343\203\253.txt'
	named '\360\237\246\253.txt'                   # an emoji, beyond 16 bits
	named 'latin1-caf\351.txt'                     # not UTF-8
	named 'broken-\377\376\300\257.txt'            # never UTF-8; the end is an overlong slash
	named 'right-to-left-\342\200\256txt.exe'      # reads as exe.txt

	named 'new\nline.txt'
	named 'carriage\rreturn.txt'
	named 'tab\tstop.txt'
	named 'bell\a.txt'
	named 'delete\177.txt'
	named 'double\"quote.txt'
	named "single'quote.txt"
	named 'back\\slash.txt'
	named ' leading and trailing space '
	named '-rf'
	named '$(echo shell) `echo shell` $HOME.txt'
	named 'star*.txt'
	named 'percent%2Fescaped%00.txt'
	named 'question?query=1&more#fragment.txt'
	named 'semi;colon=equals.txt'
	named '{+brace}.txt'
	named '<img src=x onerror=alert(1)>.html'

	named '...'
	named '..hidden/..data'
	named '~tilde'
	named 'C:/drive.txt'
	named 'NUL.txt'                                # a device on Windows
	named 'ends with a dot.'
	named 'Case.txt'
	named 'case.txt'

	# Words that the URIs themselves use.
	named 'contents/contents/contents'
	named 'refs/heads/main/contents/file.txt'
	named 'archive/HEAD.tar.gz'

	# A folder sorts as if its name ended in a slash, so a.txt comes before a/.
	named 'a/file'
	named 'a.txt'
	named 'a0'

	# tar has 100 bytes for a name and 155 for the folders before it; what does
	# not fit goes into a pax header.
	named "long/$(letters 95)"                     # 100 bytes: the last to fit
	named "long/$(letters 96)"                     # 101 bytes: the first to be split
	named "$(letters 155)/$(letters 100)"          # 256 bytes: the longest split
	named "$(letters 155)/$(letters 101)"          # the name is too long to split
	named "$(letters 156)/$(letters 100)"          # the folder is too long to split
	named "component/$(letters 255)"               # the longest that file systems take
	named "path/$(letters 90)/$(letters 91)/$(letters 92)/$(letters 93)/end.txt"
	named 'deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/end.txt'
	link long-target "$(letters 100)"
	link longer-target "$(letters 101)"
}

# Every file says its own name, in git's quoting, so that a mix-up shows.
named() { # PATH
	printf '%s\n' "$1" | file "$1"
}

letters() { # COUNT
	printf "%0$1d" 0 | tr 0 n
}

# What .gitattributes do to an archive, at the root and below it.
fill_attributes() {
	describe 'Attributes that change what an archive holds'
	import attributes_history
	git tag -a -m 'For $Format:%(describe)$ to find' v1.0.0 main
	pack
}

attributes_history() {
	commit main 'Leave out, fill in and convert'
	file .gitattributes <<-'END'
		# Read by git archive.
		.gitattributes   export-ignore
		*.secret         export-ignore
		/ci              export-ignore
		version.txt      export-subst
		*.bat            text eol=crlf
		*.c              ident
		*.dat            binary
	END
	echo 'Not for the archive.' | file key.secret
	echo 'A whole folder that is left out.' | file ci/build.yml
	echo 'Only the ci at the root is left out.' | file docs/ci/notes.txt
	file version.txt <<-'END'
		commit $Format:%H$
		tree $Format:%T$
		short $Format:%h$
		date $Format:%cI$
		author $Format:%an <%ae>$
		subject $Format:%s$
		untouched $Format$ and $Format:
	END
	printf '@echo off\necho hello\n' | file run.bat
	printf 'already\r\nconverted\r\n' | file crlf.bat
	printf '/* $Id$ */\nint main(void) { return 0; }\n' | file main.c
	printf 'raw\000\n$Id$\r\n' | file table.dat

	file docs/.gitattributes <<-'END'
		# Nearer than the root, so it wins.
		*.secret        -export-ignore
		draft-*         export-ignore
		*.bat           -text
		release.txt     export-subst
	END
	echo 'Back in the archive.' | file docs/public.secret
	echo 'Left out by the folder.' | file docs/draft-1.txt
	printf 'kept\nas it is\n' | file docs/run.bat
	echo '$Format:%H$' | file docs/release.txt
	echo '$Format:%H$' | file release.txt
}

# What a browser or an agent has to tell apart: text, pictures, data.
fill_media() {
	describe 'Pictures, data and text of many kinds'
	import media_history
	pack
}

media_history() {
	commit main 'Collect files of many kinds'
	logo_png | file images/logo.png
	file images/logo.svg <<-'END'
		<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
		  <circle cx="8" cy="8" r="7.5" fill="#1f6feb"/>
		  <circle cx="8" cy="8" r="4.5" fill="#ffd33d"/>
		  <script>alert('an SVG file can carry a script')</script>
		</svg>
	END
	file site/index.html <<-'END'
		<!doctype html>
		<meta charset="utf-8">
		<title>Sample</title>
		<script>alert('never run what a repository holds')</script>
	END
	noise 300000 | file data/noise.bin
	file data/pretty.json <<-'END'
		{
		  "name": "sample",
		  "numbers": [1, 2.5, -3e10],
		  "nested": { "empty": {}, "null": null, "text": "\u00e9 \ud83e\udd9b" }
		}
	END
	printf '{"no":"newline at the end"}' | file data/compact.json

	file text/empty.txt </dev/null
	printf 'no newline at the end' | file text/unfinished.txt
	printf 'Windows\r\nlines\r\n' | file text/crlf.txt
	printf '\357\273\277with a byte order mark\n' | file text/bom.txt
	printf 'Latin-1: caf\351\n' | file text/latin1.txt
	printf '\377\376U\000T\000F\000-\0001\0006\000\n\000' | file text/utf16.txt
	printf 'looks like text\000until here\n' | file text/nul.txt
}

# 16 by 16 pixels: a yellow disc on a blue one.
logo_png() {
	printf '\211PNG\r\n\032\n'
	printf '\000\000\000\015IHDR\000\000\000\020\000\000\000\020\010\003\000\000\000\050\055\017\123'
	printf '\000\000\000\011PLTE\377\377\377\037\157\353\377\323\075\332\050\321\226'
	printf '\000\000\000\055IDAT\170\332\143\140\300\006\030\241\000\235\017\023\141\144\104\025\001'
	printf '\321\114\140\000\025\201\363\301\042\064\024\100\265\026\303\141\230\116\307\364\034\012'
	printf '\000\000\174\120\000\351\330\123\026\223'
	printf '\000\000\000\000IEND\256\102\140\202'
}

# Bytes that look random, so that they do not compress, and are always the
# same: the generator of Park and Miller, whose products fit a double exactly.
noise() { # COUNT
	octal=$(awk -v count="$1" 'BEGIN {
		state = 20240229
		for (i = 0; i < count; i++) {
			state = (state * 16807) % 2147483647
			printf "\\%03o", int(state / 2048) % 256
		}
	}')
	# shellcheck disable=SC2059 # the format is the content
	printf "$octal"
}

# Exactly 2,000 files: 1,500 in nested folders and 500 in a single one.
fill_large_tree() {
	describe 'Two thousand files'
	import large_tree_history
	git tag before main~1
	pack
}

large_tree_history() {
	commit main 'Generate two thousand files'
	awk 'BEGIN {
		for (p = 1; p <= 15; p++)
			for (m = 1; m <= 10; m++)
				for (f = 1; f <= 10; f++)
					put(sprintf("packages/package-%02d/module-%02d/file-%02d.txt", p, m, f), 1 + (p * m * f) % 7)
		for (f = 1; f <= 500; f++)
			put(sprintf("flat/entry-%03d.txt", f), 1)
	}
	function put(path, lines,   text, i) {
		for (i = 1; i <= lines; i++)
			text = text "line " i " of " path "\n"
		printf "M 100644 inline \"%s\"\ndata %d\n%s\n", path, length(text), text
	}'

	# An update moves little: a client that has the first commit needs two files.
	commit main 'Change one file, add one and remove one'
	echo 'changed' | file packages/package-07/module-03/file-05.txt
	echo 'added' | file packages/package-07/module-03/file-11.txt
	delete flat/entry-250.txt
}

# Every kind of ref, and names that are hard to tell from something else.
# All are in packed-refs; main has moved on since, as a loose ref that wins.
fill_refs() {
	describe 'Branches and tags of every kind'
	import refs_history

	git tag light main
	git tag v1.0 main
	git tag nightly.tar main
	git tag -a -m 'A tag' annotated main
	git tag -a -m 'A tag of a tag' nested annotated
	git tag -a -m 'A tag with slashes' release/2024/01 main
	git tag -a -m 'A tag of a folder' folder 'main^{tree}'
	git tag -a -m 'A tag of a file' readme main:README.md
	git update-ref refs/pull/1/head refs/heads/feature/login/v2
	git notes add -m 'A note about the commit' refs/heads/main

	git pack-refs --all
	import refs_moving_on
	pack
}

refs_history() {
	commit main 'Start'
	echo '# refs' | file README.md
	echo 'package src' | file src/main.go
	echo 'notes' | file docs/notes.md

	for branch in \
		feature/login/v2 feature/login-page \
		src docs/contents/src \
		heads/main v1.0 release.tar.gz nightly deadbeef \
		100% fix#12 a+b \
		"$(printf '\303\274bung')" "$(letters 120)"; do
		commit "$branch" "Work on $branch" main
		printf '%s\n' "$branch" | file branch.txt
	done
}

refs_moving_on() {
	commit main 'Move on after the refs were packed' main^0
	echo 'newer than packed-refs' | file docs/notes.md
}

# Nothing is packed yet, as after a small push.
fill_loose() {
	describe 'Loose objects only'
	import loose_history
	git tag -a -m 'A loose tag' v1 main
}

loose_history() {
	commit main 'Start small'
	echo '# loose' | file README.md
	file empty.txt </dev/null
	commit main 'Add a folder'
	echo 'inside' | file folder/file.txt
}

# HEAD names a commit, here an older one than any branch has.
fill_detached() {
	describe 'HEAD is a commit, not a branch'
	import detached_history
	pack
	git update-ref --no-deref HEAD "$(git rev-parse main~1)"
}

detached_history() {
	commit main 'One'
	echo one | file number.txt
	commit main 'Two'
	echo two | file number.txt
}

# The default branch need not be called main, and there need not be a main.
fill_trunk() {
	describe 'The default branch is trunk'
	import trunk_history
	pack
}

trunk_history() {
	commit trunk 'Plant'
	echo '# trunk' | file README.md
	commit branches/1.x 'Maintain' trunk
	echo 'maintained' | file MAINTENANCE.md
	commit trunk 'Grow'
	echo 'rings: 2' | file rings.txt
}

# No commit yet. The outer repository tracks files, not folders, and without
# the folders refs and objects this would not be a repository. Under refs, git
# skips names that end in .lock, which are its own lock files; about a dotfile
# there newer versions of git fsck complain. The content is that of a symbolic
# ref, for readers that look at it all the same.
fill_empty() {
	echo 'ref: refs/heads/main' >refs/heads/placeholder.lock
	: >objects/info/.gitkeep
}

# --- Words for writing a history --------------------------------------------
#
# They print git fast-import commands. PATH is in the quoting of fast-import
# and C: a backslash and three octal digits can stand for any byte.

# A commit follows the last one on its branch in the same history, or comes
# after START: a branch, or with ^0 what the branch already is in the repository.
commit() { # BRANCH MESSAGE [START]
	clock=$((clock + 3600))
	printf 'commit refs/heads/%s\n' "$1"
	printf 'author %s %s %s\n' "$author" "$clock" "$zone"
	printf 'committer %s %s %s\n' "$committer" "$clock" "$zone"
	[ -z "$encoding" ] || printf 'encoding %s\n' "$encoding"
	printf '%s\n' "$2" | data
	[ $# -lt 3 ] || printf 'from refs/heads/%s\n' "$3"
}

merge() { # BRANCH MESSAGE OTHER...
	commit "$1" "$2"
	shift 2
	for other in "$@"; do
		printf 'merge refs/heads/%s\n' "$other"
	done
}

file() { # PATH <CONTENT
	printf 'M 100644 inline "%s"\n' "$1"
	data
}

program() { # PATH <CONTENT
	printf 'M 100755 inline "%s"\n' "$1"
	data
}

link() { # PATH TARGET
	printf 'M 120000 inline "%s"\n' "$1"
	printf '%s' "$2" | data
}

submodule() { # PATH COMMIT
	printf 'M 160000 %s "%s"\n' "$2" "$1"
}

rename() { # FROM TO
	printf 'R "%s" "%s"\n' "$1" "$2"
}

delete() { # PATH
	printf 'D "%s"\n' "$1"
}

written_by() { # AUTHOR ZONE
	author=$(printf '%b' "$1")
	zone=$2
}

# A shell variable cannot hold every byte, a file can.
data() { # <CONTENT
	cat >"$scratch/data"
	printf 'data %d\n' "$(wc -c <"$scratch/data")"
	cat "$scratch/data"
	echo
}

# --- Machinery --------------------------------------------------------------

build() { # REPOSITORY DEFAULT_BRANCH
	name=$(printf '%s' "${1%.git}" | tr '/-' '__')
	git init --quiet --bare --template= --initial-branch="$2" "$built/$1"
	(
		cd "$built/$1"
		plain_config
		start_the_clock
		"fill_$name"
		tidy
	)
	printf '%s\n' "$1" >>"$scratch/repositories"
}

# What git init writes depends on the file system.
plain_config() {
	printf '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n' >config
}

start_the_clock() {
	clock=1700000000
	zone=+0000
	encoding=
	author="$GIT_AUTHOR_NAME <$GIT_AUTHOR_EMAIL>"
	committer="$GIT_COMMITTER_NAME <$GIT_COMMITTER_EMAIL>"
}

describe() { # TEXT
	printf '%s\n' "$1" >description
}

# Without the closing word, as when the history fails halfway, nothing is kept.
import() { # HISTORY [ARGUMENT]
	{
		echo 'feature done'
		"$@"
		echo 'done'
	} | git fast-import --quiet
}

pack() { # [OPTION]
	git repack -a -d -f -n --quiet "$@"
}

# What a clone of the outer repository would not bring along goes: folders
# without files, and git's read-only packs.
tidy() {
	find . -type f -exec chmod 0644 {} +
	find . -depth -type d -exec rmdir {} + 2>/dev/null || true
}

install_into() { # TARGET
	mkdir -p "$1"
	while read -r repository; do
		rm -rf "${1:?}/$repository"
		mkdir -p "$(dirname "$1/$repository")"
		cp -R "$built/$repository" "$1/$repository"
	done <"$scratch/repositories"
	cp "$built/BUILT_WITH" "$1/BUILT_WITH"
}

# Nothing that the machine, its user or a calling git has set reaches git here,
# and whatever may change the bytes of a pack is pinned.
forget_the_machine() {
	# shellcheck disable=SC2046 # a list of words is wanted
	unset $(git rev-parse --local-env-vars)
	umask 022
	export LC_ALL=C TZ=UTC

	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 1' HUP INT TERM
	built=$scratch/built
	mkdir "$built"

	export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1
	export GIT_CONFIG_GLOBAL="$scratch/config"
	cat >"$GIT_CONFIG_GLOBAL" <<-'END'
		[advice]
			nestedTag = false
		[core]
			compression = 9
			looseCompression = 9
		[pack]
			compression = 9
			threads = 1
			window = 10
			depth = 50
			writeReverseIndex = false
		[repack]
			writeBitmaps = false
		[gc]
			auto = 0
		[maintenance]
			auto = false
	END
	export GIT_DEFAULT_HASH=sha1 GIT_DEFAULT_REF_FORMAT=files

	export GIT_AUTHOR_NAME='A U Thor' GIT_AUTHOR_EMAIL=author@example.com
	export GIT_COMMITTER_NAME='C O Mitter' GIT_COMMITTER_EMAIL=committer@example.com
	export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
}

main "$@"
