// Package skills finds Agent Skills in repositories and describes them for the Skills extension of
// MCP (SEP-2640). It knows neither URIs nor messages.
//
// # Order of use
//
// Make a [Library] with [New]. [Library.List] returns the skills on the default branch of a
// repository, [Library.Read] the skill in any folder of any commit, and [Library.Changes] the
// repositories whose listed skills differ from those that were listed before.
//
// # Promises
//
// A skill is a folder with a regular file SKILL.md that begins with YAML frontmatter, whose name is
// the name of the folder and follows the rules of the Agent Skills specification
// (https://agentskills.io/specification). A folder that has a SKILL.md and breaks a rule or a limit is
// refused with a reason that its author understands: see [RefusedError].
//
// The digest and the size of a file are those of its bytes in the commit, which were compared with
// their object id. The files of a skill are complete: each regular file once, those of nested skills
// among them. SEP-2640 has no form for symbolic links and submodules, so these are no files of a
// skill; [Skill.Omitted] names them.
//
// Frontmatter becomes the JSON object that the core schema of YAML 1.2 makes of it: dates stay
// strings, and members keep their order.
//
// # Limits
//
// A skill has at most [MaxFiles] files and [MaxBytes] bytes. Constants bound frontmatter, paths,
// folders, and the skills of one repository. What was read of a commit, a folder or a file is kept by
// object id, so that a push costs its difference; [Library.Stats] counts it. Reading reserves
// [limits.Limiter.Call] once for each repository; what is kept costs nothing.
//
// # Decisions
//
// Plain scalars are resolved here and not by the YAML library, which follows YAML 1.1 for numbers and
// dates: hosts compare the frontmatter with what they read themselves.
//
// Explicit tags, merge keys that are aliases of maps, and keys that are no strings have no meaning
// that all hosts share. Tags other than !!str are refused, "<<" is an ordinary key, and scalar keys are
// strings as they are written.
package skills
