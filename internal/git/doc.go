// Package git is the edge to git: it keeps candidates as commits in a private bare repository, publishes them as
// branches of the user's repository, and reads the user's repository. It is the only package that imports go-git.
//
// It refuses to touch anything of the user's but two things: objects, which git ignores until something names them,
// and references under refs/heads/loopd/, beside one new branch where its owner asks for it by name. The worktree, the index, HEAD, every other reference, the reflogs and the
// configuration stay byte for byte as they are. No hook runs, no lock of the user's is ignored or removed, and a
// branch that some worktree has checked out is not moved.
//
// Invariants: a commit is a pure function of its description, so a lost reference is recreated bit for bit; an object
// and its directory are on disk before anything names it; a reference is replaced by lock, write, sync and rename,
// never in place, because a file truncated in place is what a crash leaves empty; every change of a reference states
// the value it expects. go-git writes objects into the private repository and nothing else: references there are
// written here, and the user's repository is written by git itself.
package git
