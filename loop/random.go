package loop

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// newRand returns the generator for one use within a campaign. It depends on
// the recorded seed and the use alone, so a restart draws the same coins.
func newRand(seed uint64, use ...string) *rand.Rand {
	h := sha256.New()
	fmt.Fprintf(h, "%d", seed)
	for _, u := range use {
		fmt.Fprintf(h, "\x00%s", u)
	}
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))
}
