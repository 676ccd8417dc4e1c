// Package admission holds every reason not to start a session: the quota of the
// account, a limit of spending, free space on the disk, the power supply, the end
// of the window. It is the one place that waits.
//
// The governor stands in front of an executor. It lets fewer sessions run side by
// side after the API has pushed back and more again when it has not, holds
// everything while a quota is used up or kept for its owner, waits out an outage,
// and sends one session ahead before it lets the rest follow.
//
// Admission counts nothing and judges nothing: what was held back was never run,
// and what ran is judged by others. What cannot be read counts as no reason: a
// night is not lost to a doubt about the power supply. Nothing is set on the
// machine; what keeps it awake is a child process that ends with loopd, also with
// one that was killed.
package admission
