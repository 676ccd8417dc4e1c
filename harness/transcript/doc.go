// Package transcript reads the stream-json of one agent session and says
// whether it is evidence.
//
// Parse turns the bytes into a Transcript: what the hook printed, what the
// session started with, every text, tool call and tool result in order, and how
// it ended. Validity climbs the ladder of questions that must all hold before a
// session may count for or against a wording; the first that fails names the
// class.
//
// The package scores nothing, reads no files and never decides from prose: an
// agent that writes about rate limits has not met one. Its invariants:
//
//   - Key names are matched exactly and a name that occurs twice in an object
//     damages the line, so that odd casing or a second key cannot replace
//     evidence.
//   - Nothing in the stream is fatal. What cannot be read is counted or kept as
//     Damage, and a damaged stream is never valid.
//   - Unknown line types are counted by name and change nothing.
package transcript
