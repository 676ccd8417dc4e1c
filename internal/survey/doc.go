// Package survey reads what a plugin holds, for whoever sets one up: manifest or
// marketplace, skills with the lengths of their descriptions, commands, agents,
// the session-start hook as far as files tell, and what will get in the way. It
// also words the suite that a plugin without one begins with.
//
// It runs nothing and writes nothing. It follows no link, reads nothing but
// regular files up to a bound, and takes any bytes without a panic. What the
// agent CLI would pass over in silence is a Warning; only a plugin that cannot be
// told to be one is an error. The rules are those of the pinned CLI, measured.
package survey
