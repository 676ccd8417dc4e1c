package harness

// Price is what a model's tokens cost, in US dollars per million.
type Price struct {
	Input      float64 `yaml:"input" json:"input"`
	Output     float64 `yaml:"output" json:"output"`
	CacheRead  float64 `yaml:"cache_read" json:"cache_read"`
	CacheWrite float64 `yaml:"cache_write" json:"cache_write"`
}

// USD is what the tokens cost.
func (p Price) USD(u Usage) float64 {
	return (p.Input*float64(u.Input) + p.Output*float64(u.Output) + p.CacheRead*float64(u.CacheRead) + p.CacheWrite*float64(u.CacheWrite)) / 1e6
}

// Add is the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Equivalent is the tokens weighed by what they cost beside one of the input:
// written to a cache 1.25, read from one 0.1, put out 5. It compares runs
// without a price list.
func (u Usage) Equivalent() float64 {
	return float64(u.Input) + 1.25*float64(u.CacheWrite) + 0.1*float64(u.CacheRead) + 5*float64(u.Output)
}
