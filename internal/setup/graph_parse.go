package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// depends are the relations in which one file depends on another.
var depends = map[string]bool{
	"calls": true, "references": true, "imports": true, "imports_from": true, "re_exports": true, "inherits": true,
	"extends": true, "implements": true, "uses": true, "mixes_in": true, "embeds": true,
}

// node and edge are what is read of the tool's; everything else may come and go
// between its versions.
type node struct {
	ID   string `json:"id"`
	File string `json:"source_file"`
}

type edge struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	Relation string `json:"relation"`
}

// ParseGraph reads a graph.json. The list of edges may be called links or edges.
func ParseGraph(data []byte) (Graph, error) {
	var doc struct {
		Nodes *[]node `json:"nodes"`
		Links *[]edge `json:"links"`
		Edges *[]edge `json:"edges"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return Graph{}, fmt.Errorf("read code graph: %w", err)
	}
	if doc.Nodes == nil {
		return Graph{}, errors.New("read code graph: no list of nodes")
	}
	var edges []edge
	for _, list := range []*[]edge{doc.Links, doc.Edges} {
		if list != nil {
			edges = append(edges, *list...)
		}
	}
	if doc.Links == nil && doc.Edges == nil {
		return Graph{}, errors.New("read code graph: no list of links or edges")
	}
	return collapse(*doc.Nodes, edges), nil
}

// collapse joins the nodes of one file. Edges with an end that is no node, such
// as a method of a library, lead nowhere.
func collapse(nodes []node, edges []edge) Graph {
	fileOf := make(map[string]string, len(nodes))
	paths := make(map[string]bool)
	for _, n := range nodes {
		if n.File == "" {
			continue
		}
		file := clean(n.File)
		fileOf[n.ID] = file
		paths[file] = true
	}
	root := rootOf(paths)
	g := Graph{next: make(map[string]map[string]bool, len(paths))}
	for id, file := range fileOf {
		fileOf[id] = strings.TrimPrefix(file, root)
		g.next[fileOf[id]] = make(map[string]bool)
	}
	for _, e := range edges {
		from, to := fileOf[e.Source], fileOf[e.Target]
		if from == "" || to == "" || from == to || !depends[e.Relation] {
			continue
		}
		g.next[from][to] = true
		g.next[to][from] = true
	}
	return g
}

var drive = regexp.MustCompile(`^[A-Za-z]:/`)

// clean writes a path with slashes and without detours.
func clean(file string) string { return path.Clean(strings.ReplaceAll(file, `\`, "/")) }

func isAbs(file string) bool { return path.IsAbs(file) || drive.MatchString(file) }

func endsWith(file, end string) bool { return !isAbs(end) && strings.HasSuffix(file, "/"+end) }

// rootOf finds the directory, with its slash, that absolute paths are below,
// when the same graph also has relative ones: a root is what stands before a
// relative path and before every absolute one. Empty when there is none; then
// paths stay as they are and find looks at their ends.
func rootOf(paths map[string]bool) string {
	var abs []string
	for p := range paths {
		if isAbs(p) {
			abs = append(abs, p)
		}
	}
	best := ""
	for _, p := range abs {
		for i := range len(p) {
			root := p[:i+1]
			if p[i] != '/' || !paths[p[i+1:]] || best != "" && len(root) >= len(best) {
				continue
			}
			if allBelow(abs, root) {
				best = root
			}
		}
	}
	return best
}

func allBelow(paths []string, root string) bool {
	for _, p := range paths {
		if !strings.HasPrefix(p, root) {
			return false
		}
	}
	return true
}
