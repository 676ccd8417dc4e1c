package campaign

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

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

// shown shortens what holds a digest; a judge's model id is shown whole.
func shown(part string) string {
	switch {
	case part == "":
		return "none"
	case len(part) < sha256.Size*2:
		return part
	}
	return part[:len(part)-sha256.Size*2+12]
}
