package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loopd"
	"loopd/loop"
)

// parts are the digests of everything that measures, by name.
func (c *Campaign) parts() map[string]string {
	out := map[string]string{
		"loopd's own checks": loopd.SourceDigest(), "suite": string(c.Sealed.Frozen.Digest()), "agent": c.AgentSHA, loop.CredentialPart: c.Credential,
	}
	if c.Judge != "" {
		out[loop.JudgePart] = c.Judge
	}
	maps.Copy(out, c.Confines)
	for fixture, tree := range c.Graphs {
		h := sha256.New()
		for _, name := range tree.Paths() {
			fmt.Fprintf(h, "%d:%s,%d:", len(name), name, len(tree[name].Data))
			h.Write(tree[name].Data)
		}
		out["code graph of "+fixture] = hex.EncodeToString(h.Sum(nil))
	}
	return out
}

// instrument is the digest of the parts.
func instrument(parts map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(h, "%d:%s,%d:%s,", len(name), name, len(parts[name]), parts[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// differ lists the parts that are not the same.
func differ(began, today map[string]string) []string {
	names := slices.Collect(maps.Keys(began))
	names = slices.AppendSeq(names, maps.Keys(today))
	slices.Sort(names)
	var out []string
	for _, name := range slices.Compact(names) {
		if was, is := began[name], today[name]; was != is {
			out = append(out, fmt.Sprintf("%s was %s, is %s", name, shown(was), shown(is)))
		}
	}
	return out
}

// shown shortens a digest at the end of a part; a word, a list or numbers are
// shown whole.
func shown(part string) string {
	words := len(part) - sha256.Size*2
	switch {
	case part == "":
		return "none"
	case words < 0 || strings.Trim(part[words:], "0123456789abcdef") != "":
		return part
	}
	return part[:words+12]
}
