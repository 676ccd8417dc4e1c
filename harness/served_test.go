package harness

import (
	"testing"

	"loopd/internal/testenv"
)

func TestServedMoved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		was, is Served
		want    []string
	}{
		"nothing known":        {nil, Served{"m": {"m-1"}}, nil},
		"the same":             {Served{"m": {"m-1"}}, Served{"m": {"m-1"}}, nil},
		"another question":     {Served{"m": {"m-1"}}, Served{"n": {"n-1"}}, nil},
		"nothing served":       {Served{"m": {"m-1"}}, nil, nil},
		"another model":        {Served{"m": {"m-1"}}, Served{"m": {"m-2"}}, []string{"m was answered by m-1, is answered by m-2"}},
		"one beside the known": {Served{"m": {"m-1", "m-2"}}, Served{"m": {"m-2", "m-3"}}, []string{"m was answered by m-1, m-2, is answered by m-3"}},
	} {
		testenv.Same(t, name, tc.want, tc.is.Moved(tc.was))
	}
}

func TestServedWith(t *testing.T) {
	t.Parallel()
	was := Served{"m": {"m-1"}}
	got := was.With(Served{"m": {"m-1", "m-2"}, "n": {"n-1"}, "": {"x"}, "o": {""}})
	testenv.Same(t, "result", Served{"m": {"m-1", "m-2"}, "n": {"n-1"}}, got)
	if len(was["m"]) != 1 {
		t.Errorf("what was known before has changed: %v", was)
	}
}
