package exchange

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// parseFile reads a document by its syntax: lines of JSON, JSON or YAML. Rows
// are a list.
func parseFile(name string, data []byte) (*node, error) {
	if path.Ext(name) == ".jsonl" {
		return parseRows(data)
	}
	if path.Ext(name) == ".json" || looksLikeJSON(data) {
		n, err := parseJSON(data)
		if err == nil || path.Ext(name) == ".json" {
			return n, err
		}
	}
	return parseYAML(data)
}

// parseRows reads one JSON document a line.
func parseRows(data []byte) (*node, error) {
	out := &node{kind: aList}
	line := 0
	for row := range bytes.Lines(clean(data)) {
		line++
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		n, err := parseJSON(row)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out.items = append(out.items, n)
	}
	return out, nil
}

// detect names the format of a document by its content. The order matters: a
// later format's marks are found in files of an earlier one.
func (im *importer) detect(doc *node, dir string) (Format, bool) {
	switch {
	case isTriggerSet(doc):
		return TriggerSet, true
	case isResult(doc):
		return ResultFile, true
	case doc.get("evals").is(aList):
		return EvalsJSON, true
	case isCaseFile(doc):
		return PluginEval, true
	case isWaza(doc):
		return Waza, true
	case isAgentV(doc):
		return AgentV, true
	case isPromptfoo(doc):
		return Promptfoo, true
	case doc.has("capability_path", "algorithm_skill"):
		return CapEvolve, true
	case isRows(doc) && everyItem(doc, func(n *node) bool { return n.get("target") != nil }) && im.besideCapEvolve(dir):
		return CapEvolve, true
	case isRows(doc):
		return Inspect, true
	}
	return "", false
}

// everyItem reports whether a list has entries and all of them are so.
func everyItem(n *node, so func(*node) bool) bool {
	return n.is(aList) && len(n.items) > 0 && !slices.ContainsFunc(n.items, func(item *node) bool { return !so(item) })
}

func isTriggerSet(n *node) bool {
	return everyItem(n, func(item *node) bool {
		_, ok := item.get("should_trigger").truth()
		return ok && item.get("query").is(aScalar)
	})
}

// isResult knows what runs of skill-creator, agentskills.io, claude plugin eval
// and promptfoo leave behind.
func isResult(n *node) bool {
	graded := func(item *node) bool { return item.has("text", "passed") }
	switch {
	case everyItem(n.get("results"), func(item *node) bool { return item.has("query", "trigger_rate") }),
		everyItem(n.get("expectations"), graded), everyItem(n.get("assertion_results"), graded),
		n.has("runs", "run_summary"), n.has("reviews", "status"), n.has("eval_id", "prompt"),
		n.has("schemaVersion", "cases"), n.has("evalId", "results"):
		return true
	}
	return false
}

func isCaseFile(n *node) bool {
	return n.has("schema_version", "name") && (n.get("execution") != nil || n.get("graders") != nil || n.get("context") != nil)
}

func isWaza(n *node) bool {
	return n.get("config").get("executor") != nil && (n.get("skill") != nil || n.get("agent") != nil) ||
		n.has("id") && (n.get("inputs").get("prompt") != nil || n.get("inputs").get("prompt_file") != nil) ||
		n.get("should_trigger_prompts").is(aList) || n.get("should_not_trigger_prompts").is(aList)
}

// isAgentV tells by keys that promptfoo spells in another way or does not have.
func isAgentV(n *node) bool {
	test := func(item *node) bool {
		return item.has("id") && (item.get("input") != nil || item.get("criteria") != nil || item.get("input_files") != nil || item.get("assertions") != nil)
	}
	if n.get("tests") == nil {
		return everyItem(n, func(item *node) bool {
			return item.has("id") && item.get("target") == nil && (item.get("criteria") != nil || item.get("vars") != nil)
		})
	}
	for _, key := range []string{"default_test", "evaluate_options", "assert", "environment", "execution", "workspace", "timeout_seconds"} {
		if n.get(key) != nil {
			return true
		}
	}
	return slices.ContainsFunc(n.get("tests").items, test)
}

func isPromptfoo(n *node) bool {
	provided := n.get("providers") != nil || n.get("targets") != nil
	tested := n.get("tests") != nil || n.get("scenarios") != nil
	return provided && (tested || n.get("prompts") != nil) || n.get("prompts") != nil && tested
}

func isRows(n *node) bool {
	return everyItem(n, func(item *node) bool { return item.get("input") != nil })
}

// besideCapEvolve reports whether a project of cap-evolve lies in a folder: rows
// alone look like a data set of Inspect.
func (im *importer) besideCapEvolve(dir string) bool {
	entries, err := fs.ReadDir(im.fsys, dir)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, "capevolve") {
			continue
		}
		if data, err := im.read(path.Join(dir, name)); err == nil {
			if doc, err := parseYAML(data); err == nil && doc.get("capability_path") != nil {
				return true
			}
		}
	}
	return false
}

// isHarbor reports whether a folder is a task of Harbor.
func (im *importer) isHarbor(dir string) bool {
	return im.exists(path.Join(dir, "task.toml")) && im.exists(path.Join(dir, "instruction.md"))
}

// isCase reports whether a folder is a case of claude plugin eval.
func (im *importer) isCase(dir string) bool {
	if data, err := im.read(path.Join(dir, "case.yaml")); err == nil {
		if doc, err := parseYAML(data); err != nil || isCaseFile(doc) {
			return true // one that cannot be read is named as an error later
		}
	}
	if !im.exists(path.Join(dir, "prompt.md")) {
		return false
	}
	in := im.plugin.evals
	return im.exists(path.Join(dir, "graders")) || in != "" && strings.HasPrefix(dir, in+"/")
}
