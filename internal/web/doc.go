// Package web shows a campaign to people: pages served on this machine alone, the
// same pages as one file, and the charts in both.
//
// It decides nothing and computes no statistic: numbers come from report, and a
// person's word goes to whoever runs the campaign. What it knows is replayed from
// the ledger, so that it shows the same with and without a loopd that runs. It is
// the only importer of the plotting library.
//
// Nothing is taken for markup: every text goes through html/template, also what a
// model wrote. Files are opened by the id of a trial the ledger knows, or of a
// report that is listed, below one root. Held-out task text is masked unless the
// server was told to reveal it.
package web
