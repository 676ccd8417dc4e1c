package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

func parse(t testing.TB, text string) Graph {
	t.Helper()
	g, err := ParseGraph([]byte(text))
	testenv.Must(t, err)
	return g
}

type way struct {
	from, to string
	hops     int
	ok       bool
}

func wantWay(t *testing.T, g Graph, w way) {
	t.Helper()
	for range 2 { // there and back
		if hops, ok := g.Hops(w.from, w.to); hops != w.hops || ok != w.ok {
			t.Errorf("%s to %s: got %d %v, want %d %v", w.from, w.to, hops, ok, w.hops, w.ok)
		}
		if got, want := g.OneHop(w.from, w.to), w.ok && w.hops == 1; got != want {
			t.Errorf("%s to %s: one hop: got %v, want %v", w.from, w.to, got, want)
		}
		w.from, w.to = w.to, w.from
	}
}

// The same four files in the shapes that versions and machines write.
func TestGraph_Shapes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/ferry-*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("graphs: got %v (%v), want 3", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			testenv.Must(t, err)
			g := parse(t, string(data))
			if got := g.Files(); len(got) != 4 {
				t.Errorf("files: got %q, want 4", got)
			}
			for _, w := range []way{
				{"app/fare.rb", "app/timetable.rb", 1, true},
				{"app/harbour.rb", "app/fare.rb", 1, true},
				{"app/harbour.rb", "app/timetable.rb", 2, true},
				{"app/harbour.rb", "app/harbour.rb", 0, true},
				{"app/weather.rb", "app/timetable.rb", 0, false}, // contained is not used
				{"app/pier.rb", "app/fare.rb", 0, false},
				{`.\app\harbour.rb`, "./app//fare.rb", 1, true},
			} {
				wantWay(t, g, w)
			}
			if g.Has("app/pier.rb") || !g.Has("app/weather.rb") {
				t.Error("a file that is not there is known, or one that is there is not")
			}
		})
	}
}

// small is a graph of two nodes in the files named, joined by the relation.
func small(from, to, relation string) string {
	return fmt.Sprintf(`{"nodes":[{"id":"a","source_file":%q},{"id":"b","source_file":%q}],"links":[{"source":"a","target":"b","relation":%q}]}`, from, to, relation)
}

// req 9: which relations make a hop, and which do not.
func TestParseGraph_Relations(t *testing.T) {
	t.Parallel()
	for relation, want := range map[string]bool{
		"calls": true, "references": true, "imports": true, "imports_from": true, "re_exports": true, "inherits": true, "extends": true,
		"implements": true, "uses": true, "mixes_in": true, "embeds": true,
		"contains": false, "method": false, "similar_to": false, "": false, "CALLS": false,
	} {
		if got := parse(t, small("x.rb", "y.rb", relation)).OneHop("x.rb", "y.rb"); got != want {
			t.Errorf("%q: got %v, want %v", relation, got, want)
		}
	}
}

func TestParseGraph_AbsolutePaths(t *testing.T) {
	t.Parallel()
	g := parse(t, small("/tmp/one/lib/x.rb", "/tmp/one/lib/y.rb", "calls"))
	wantWay(t, g, way{"lib/x.rb", "lib/y.rb", 1, true})
	wantWay(t, g, way{"/tmp/one/lib/x.rb", "y.rb", 1, true})
	wantWay(t, parse(t, small("lib/x.rb", "lib/y.rb", "calls")), way{"/elsewhere/lib/x.rb", `D:\work\lib\y.rb`, 1, true})
	// The end of a name is no file, and of two files that end alike none is meant.
	wantWay(t, parse(t, small("lib/xx.rb", "lib/y.rb", "calls")), way{"x.rb", "y.rb", 0, false})
	wantWay(t, parse(t, small("/a/lib/x.rb", "/a/vendor/lib/x.rb", "calls")), way{"lib/x.rb", "/a/lib/x.rb", 0, false})
	// A copy below the root is another file than the one at the root.
	g = parse(t, `{"nodes":[{"id":"a","source_file":"lib/x.rb"},{"id":"b","source_file":"/r/lib/x.rb"},{"id":"c","source_file":"/r/old/lib/x.rb"}],
		"edges":[{"source":"b","target":"c","relation":"uses"}]}`)
	testenv.Same(t, "files", []string{"lib/x.rb", "old/lib/x.rb"}, g.Files())
	wantWay(t, g, way{"lib/x.rb", "old/lib/x.rb", 1, true})
	// What is not before every absolute path is no root.
	g = parse(t, `{"nodes":[{"id":"a","source_file":"lib/x.rb"},{"id":"b","source_file":"/r/old/lib/x.rb"},{"id":"c","source_file":"/r/y.rb"}],"edges":[]}`)
	testenv.Same(t, "files", []string{"/r/old/lib/x.rb", "/r/y.rb", "lib/x.rb"}, g.Files())
}

func TestParseGraph_Bad(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "read code graph: unexpected end",
		"[]":                                  "read code graph: json: cannot unmarshal array",
		`{"links":[]}`:                        "no list of nodes",
		`{"nodes":[]}`:                        "no list of links or edges",
		`{"nodes":[],"links":[]} x`:           "read code graph: invalid character",
		`{"nodes":{"a":1},"links":[]}`:        "nodes",
		`{"nodes":[{"id":7}],"links":[]}`:     "nodes.id",
		`{"nodes":[],"edges":[{"source":7}]}`: "source",
	} {
		if _, err := ParseGraph([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if g := parse(t, `{"nodes":[],"links":[]}`); len(g.Files()) != 0 || g.Has("") {
		t.Error("an empty graph knows a file")
	}
}

// Hops is a distance: symmetric, nought only for the file itself, and never
// longer than a detour. Which list holds the edges does not matter.
func TestGraph_HopsIsADistance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "files")
		var nodes, edges []string
		for i := range n {
			nodes = append(nodes, fmt.Sprintf(`{"id":"n%d","source_file":"f%d.rb"}`, i, i))
		}
		for range rapid.IntRange(0, 10).Draw(t, "edges") {
			a, b := rapid.IntRange(0, n).Draw(t, "a"), rapid.IntRange(0, n).Draw(t, "b")
			edges = append(edges, fmt.Sprintf(`{"source":"n%d","target":"n%d","relation":"calls"}`, a, b))
		}
		list := rapid.SampledFrom([]string{"links", "edges"}).Draw(t, "list")
		g, err := ParseGraph(fmt.Appendf(nil, `{"nodes":[%s],%q:[%s]}`, strings.Join(nodes, ","), list, strings.Join(edges, ",")))
		testenv.Must(t, err)
		checkDistance(t, g)
	})
}

func checkDistance(t interface{ Errorf(string, ...any) }, g Graph) {
	for _, a := range g.Files() {
		for _, b := range g.Files() {
			there, ok := g.Hops(a, b)
			back, okBack := g.Hops(b, a)
			if there != back || ok != okBack || (there == 0 && ok) != (a == b) {
				t.Errorf("%s to %s: %d %v, back %d %v", a, b, there, ok, back, okBack)
			}
			for _, c := range g.Files() {
				if !g.OneHop(b, c) {
					continue
				}
				if on, okOn := g.Hops(a, c); ok && (!okOn || on > there+1) {
					t.Errorf("%s to %s is %d, to its neighbour %s %d", a, b, there, c, on)
				}
			}
		}
	}
}

func FuzzParseGraph(f *testing.F) {
	files := testenv.Glob(f, "testdata/ferry-*.json")
	for _, file := range files {
		data, err := os.ReadFile(file)
		testenv.Must(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"nodes":[{"id":"","source_file":"/"},{"id":"b","source_file":"."}],"links":[{"relation":"calls","target":"b"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ParseGraph(data)
		if err != nil || len(g.Files()) > 12 {
			return
		}
		checkDistance(t, g)
	})
}
