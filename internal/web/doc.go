// Package web draws what a campaign came to for people: charts today.
//
// It decides nothing and computes no statistic: numbers come in, pictures go out.
// The same numbers give the same bytes. It is the only importer of the plotting
// library.
package web
