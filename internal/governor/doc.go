// Package governor keeps sessions within the limits of the account they run on.
// It stands in front of an executor: it lets fewer sessions run side by side
// after the API has pushed back and more again when it has not, holds everything
// while a quota is used up or kept for its owner, waits out an outage, and sends
// one session ahead before it wakes the rest.
//
// It counts nothing and judges nothing: what was held back was never run, and
// what ran is judged by others. It believes what the API says in its headers;
// text is read only where they are missing.
package governor
