package isolate

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
)

// order is what the helper is to do before it becomes the agent. It comes in a
// file without a name: arguments can be read in the session's process table.
type order struct {
	Program string
	Argv    []string
	// Processes is the limit of processes and threads to set, 0 for none.
	Processes uint64
	// Confine is set where the helper itself puts up the walls.
	Confine *confinement
}

// confinement is what a session may do under Landlock; all else it may not.
type confinement struct {
	ABI   int      // of the kernel, as it was probed
	Read  []string // directories and files to read and run
	List  []string // directories whose names alone may be listed
	Write []string // directories of the box
	Files []string // single files and devices to read and write
	Port  int      // the one TCP port that may be connected to, 0 for none
}

func (o order) encode() (string, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(o); err != nil {
		return "", fmt.Errorf("write order: %w", err)
	}
	return b.String(), nil
}

// readOrder reads what encode wrote.
func readOrder(data []byte) (order, error) {
	var o order
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&o); err != nil {
		return order{}, fmt.Errorf("read order: %w", err)
	}
	if o.Program == "" || len(o.Argv) == 0 {
		return order{}, errors.New("read order: no program in it")
	}
	return o, nil
}
