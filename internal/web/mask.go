package web

import (
	"errors"
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

	once  sync.Once
	tasks []harness.HeldOut
	err   error
}

// load reads the tasks once: they are sealed.
func (m *masker) load() {
	if m.suite == nil {
		m.err = errors.New("no suite")
		return
	}
	suite, err := m.suite()
	if err != nil {
		m.err = err
		return
	}
	for _, sc := range suite.Scenarios {
		if sc.Role != harness.Practice {
			m.tasks = append(m.tasks, sc.Task)
		}
	}
}

// text masks what repeats a task. Where the suite cannot be read nothing a
// session said is shown: in doubt it is held out.
func (m *masker) text(text string) string {
	if m.reveal || text == "" {
		return text
	}
	m.once.Do(m.load)
	if m.err != nil {
		return heldOut
	}
	hide := make([]bool, len(text))
	any := false
	for _, task := range m.tasks {
		for _, span := range task.Overlap(text, maskWords) {
			for i := span.Start; i < span.End && i < len(text); i++ {
				hide[i], any = true, true
			}
		}
	}
	if !any {
		return text
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
