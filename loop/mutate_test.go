package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// A gate that says it may go on can be gone on with, one without a round too.
func TestOpenGatesCanBeExtended(t *testing.T) {
	t.Parallel()
	for budget := 80; budget < 200; budget += 12 {
		for seed := range uint64(4) {
			w := newWorld(seed + 21)
			set := DefaultSettings(budget)
			set.GateShare = .1
			s := w.finish(t, w.beginWith(t, set, candidate(w, "c001", lifted(.95))))
			if len(s.Kept) == 1 && s.Ended.Open && !s.GateOpen() {
				t.Fatalf("budget %d seed %d: %+v says open, and cannot be extended (sessions %d)", budget, seed, *s.Ended, s.Sessions())
			}
		}
	}
}

// leaves yields copies of v with one leaf changed.
func leaves(v any, path string, emit func(path string, mutated any)) {
	switch x := v.(type) {
	case map[string]any:
		for k, sub := range x {
			leaves(sub, path+"."+k, func(p string, m any) {
				c := map[string]any{}
				for a, b := range x {
					c[a] = b
				}
				c[k] = m
				emit(p, c)
			})
		}
	case []any:
		for i, sub := range x {
			leaves(sub, fmt.Sprintf("%s[%d]", path, i), func(p string, m any) {
				c := slices.Clone(x)
				c[i] = m
				emit(p, c)
			})
		}
		emit(path+"+dup", append(slices.Clone(x), append(slices.Clone(x), any(nil))[0]))
		if len(x) > 0 {
			emit(path+"-cut", slices.Clone(x)[:len(x)-1])
		}
	case json.Number:
		emit(path, json.Number("7"))
		emit(path, json.Number("-3"))
		emit(path, json.Number("0"))
	case string:
		emit(path, x+"x")
		emit(path, "")
	case bool:
		emit(path, !x)
	case nil:
		emit(path, json.Number("3"))
	}
}

// Any field changed in the record is found, and nothing in it is fatal. Branch
// names follow from nothing here; campaign checks those.
func TestAuditFindsAnyChangedField(t *testing.T) {
	t.Parallel()
	for _, p := range []Profile{Fast} {
		events := recorded(t, p)
		undetected, panics, n := map[string]int{}, map[string]int{}, 0
		done := map[string]int{}
		for i, e := range events {
			k := e.Payload.Kind()
			if k == KindQueued || k == KindRecorded || k == KindStarted {
				continue
			}
			if k == KindPlanned || k == KindClosed {
				if done[string(k)]++; done[string(k)] > 2 && i < len(events)-4 {
					continue
				}
			}
			data, _ := json.Marshal(e.Payload)
			var v any
			d := json.NewDecoder(bytes.NewReader(data))
			d.UseNumber()
			_ = d.Decode(&v)
			count := 0
			leaves(v, string(k), func(path string, m any) {
				count++
				if count%3 != 0 && len(data) > 300 || len(data) > 3000 && count%83 != 0 {
					return
				}
				out, _ := json.Marshal(m)
				back, err := Decode(k, out)
				if err != nil {
					return
				}
				again, _ := json.Marshal(back)
				if string(again) == string(data) || path == string(KindCommitted)+".ref" {
					return
				}
				n++
				touched := slices.Clone(events)
				touched[i].Payload = back
				func() {
					defer func() {
						if r := recover(); r != nil {
							panics[fmt.Sprint(path, ": ", r)[:min(110, len(fmt.Sprint(path, ": ", r)))]]++
						}
					}()
					if a, err := audit(t, touched); err == nil && len(a.Wrong) == 0 {
						undetected[path+" = "+string(out)[:min(len(out), 160)]]++
					}
				}()
			})
		}
		if n < 150 {
			t.Errorf("%s: only %d changes were tried", p, n)
		}
		c := 0
		for k := range undetected {
			if c++; c < 25 {
				t.Errorf("%s undetected: %s", p, k)
			}
		}
		c = 0
		for k := range panics {
			if c++; c < 12 {
				t.Errorf("%s panic: %s", p, k)
			}
		}
	}
}
