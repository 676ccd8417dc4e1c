package setup

import (
	"maps"
	"slices"
)

// Graph is a code graph collapsed to files.
type Graph struct {
	next map[string]map[string]bool // neighbours by file; every file has an entry
}

// Files lists the files of the graph in order.
func (g Graph) Files() []string { return slices.Sorted(maps.Keys(g.next)) }

// Has reports whether the graph knows the file.
func (g Graph) Has(file string) bool {
	_, ok := g.find(file)
	return ok
}

// Hops counts the edges of a shortest way between two files. It is false when
// there is no way, or when the graph does not know one of them.
func (g Graph) Hops(from, to string) (int, bool) {
	start, okFrom := g.find(from)
	goal, okTo := g.find(to)
	if !okFrom || !okTo {
		return 0, false
	}
	seen := map[string]bool{start: true}
	for hops, ring := 0, []string{start}; len(ring) > 0; hops++ {
		var outer []string
		for _, file := range ring {
			if file == goal {
				return hops, true
			}
			for n := range g.next[file] {
				if !seen[n] {
					seen[n] = true
					outer = append(outer, n)
				}
			}
		}
		ring = outer
	}
	return 0, false
}

// OneHop reports whether two files are exactly one hop apart.
func (g Graph) OneHop(from, to string) bool {
	hops, ok := g.Hops(from, to)
	return ok && hops == 1
}

// find returns the graph's name of a file. A graph may have been built with
// absolute paths, or asked about with them: then the one file that ends, or is
// the end of, the path is meant; when several could be, none is.
func (g Graph) find(file string) (string, bool) {
	file = clean(file)
	if _, ok := g.next[file]; ok {
		return file, true
	}
	found := ""
	for name := range g.next {
		if !endsWith(name, file) && !endsWith(file, name) {
			continue
		}
		if found != "" {
			return "", false
		}
		found = name
	}
	return found, found != ""
}
