package web

import (
	"bytes"
	"encoding/json"
	"sync"

	"loopd/harness"
)

// maskWords is how many words in a row of a task are taken for it.
const maskWords = 5

// heldOut stands for task text.
const heldOut = "[held-out]"

// masker puts a mark in the place of task text that a session repeated.
type masker struct {
	suite  func() (harness.Suite, error)
	reveal bool

	mu    sync.Mutex
	seal  string // of the newest campaign when the suite was read
	known *known // nil where it cannot be read
}

// known is what a masker knows: the suite as it is, and the tasks of every suite
// it has seen, for older sessions were told those.
type known struct {
	suite harness.Suite
	tasks []harness.HeldOut
	runs  *harness.Runs // of all tasks: most texts repeat nothing
}

// follow reads the suite, once for every seal: what is sealed does not change.
func (m *masker) follow(seal string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.suite == nil || m.known != nil && m.seal == seal {
		return
	}
	var tasks []harness.HeldOut
	if m.known != nil {
		tasks = m.known.tasks
	}
	m.known, m.seal = nil, seal
	suite, err := m.suite()
	if err != nil {
		return // all is masked until it can be read
	}
	for _, sc := range suite.Scenarios {
		if sc.Role != harness.Practice {
			tasks = append(tasks, sc.Task)
		}
	}
	m.known = &known{suite, tasks, harness.NewRuns(tasks, maskWords)}
}

// now is what is known, nil where the suite cannot be read.
func (m *masker) now() *known {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// scenario finds a scenario of the suite.
func (m *masker) scenario(id string) (harness.Scenario, bool) {
	k := m.now()
	if k == nil {
		return harness.Scenario{}, false
	}
	return k.suite.Scenario(id)
}

// text masks what repeats a task. Where the suite cannot be read nothing a
// session said is shown: in doubt it is held out.
func (m *masker) text(text string) string {
	if m.reveal || text == "" {
		return text
	}
	k := m.now()
	if k == nil {
		return heldOut
	}
	if !k.runs.In(text) {
		return text
	}
	hide := make([]bool, len(text))
	for _, task := range k.tasks {
		for _, span := range task.Overlap(text, maskWords) {
			for i := span.Start; i < span.End && i < len(text); i++ {
				hide[i] = true
			}
		}
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if !hide[i] {
			out = append(out, text[i])
			continue
		}
		if i == 0 || !hide[i-1] {
			out = append(out, heldOut...)
		}
	}
	return string(out)
}

// json masks a document by the texts in it: within its escapes a line break would
// hide a run of words. What is no JSON is masked as the text it is.
func (m *masker) json(data []byte) []byte {
	if m.reveal || len(data) == 0 {
		return data
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		return []byte(m.text(string(data)))
	}
	masked, changed := m.value(doc)
	if !changed {
		return []byte(m.text(string(data)))
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(masked); err != nil {
		return []byte(heldOut + "\n")
	}
	return out.Bytes()
}

// value masks every text of a decoded document, keys included.
func (m *masker) value(v any) (out any, changed bool) {
	switch v := v.(type) {
	case string:
		text := m.text(v)
		return text, text != v
	case []any:
		for i := range v {
			one, did := m.value(v[i])
			v[i], changed = one, changed || did
		}
		return v, changed
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, value := range v {
			one, did := m.value(value)
			name := m.text(key)
			all[name], changed = one, changed || did || name != key
		}
		return all, changed
	}
	return v, false
}
