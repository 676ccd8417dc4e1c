package isolate

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const (
	nameLen  = 10 // random characters of a box's name
	checkLen = 8  // characters that only follow from the first ten
)

// randomName returns a short neutral directory name.
func randomName() string { return strings.ToLower(rand.Text())[:nameLen] }

// boxName returns a random name that Sweep recognises. The second half follows
// from the first, so a directory of someone else is taken for a box with a
// chance of one in 2^40, and nothing in the name tells a session what it is.
func boxName() string {
	random := randomName()
	return random + checkOf(random)
}

// isBoxName reports whether boxName could have made the name.
func isBoxName(name string) bool {
	return len(name) == nameLen+checkLen && checkOf(name[:nameLen]) == name[nameLen:]
}

func checkOf(random string) string {
	sum := sha256.Sum256([]byte("directory " + random))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:checkLen]
}
