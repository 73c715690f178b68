package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Kind tells the errors of a cluster apart.
type Kind uint8

// The kinds of error.
const (
	// Failed is an answer that is none of the others.
	Failed Kind = iota
	// BadConfig is a kubeconfig that cannot be used.
	BadConfig
	// Unreachable is an API server that does not answer.
	Unreachable
	// Unauthorized is an API server that does not know the user.
	Unauthorized
	// Forbidden is a right that the user lacks.
	Forbidden
	// NotFound is an object, or a key of one, that does not exist.
	NotFound
	// Conflict is a write that somebody else was faster with: the object is
	// another one now, or exists already.
	Conflict
)

// Error is what went wrong with a cluster, in words for its user.
type Error struct {
	Kind Kind
	// Fix is a sentence that says what to do about it; may be empty.
	Fix string

	err error
}

// Error says what went wrong, on one line.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the error below.
func (e *Error) Unwrap() error { return e.err }

// IsKind reports whether err is an *Error of that kind.
func IsKind(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

// The flags that replace what kube-inject reads from a cluster.
const withoutCluster = "--injectConfigFile, --meshConfigFile and --valuesFile"

const withoutOrLonger = "To do without the cluster, give " + withoutCluster + "; to wait longer, --kubeclient-timeout."

func badConfig(err error, fix string) *Error {
	if fix == "" {
		fix = "To do without a cluster, give " + withoutCluster + "."
	}
	return &Error{BadConfig, fix, err}
}

// unreachable is the error where no answer came. A caller that gave up itself
// gets its own context's error.
func (c *Client) unreachable(ctx context.Context, doing string, err error) error {
	var together *noAnswer // of Bounded
	switch {
	case errors.As(context.Cause(ctx), &together) && c.answered.Load():
		return &Error{Unreachable, withoutOrLonger, fmt.Errorf("%s: the cluster of %s is slow: not all that is asked of it was answered within %s", doing, c, together.within)}
	case together != nil:
		err = together
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	var request *url.Error // names the whole URL once more
	if errors.As(err, &request) {
		err = request.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = &noAnswer{c.timeout}
	}
	return &Error{
		Unreachable, withoutOrLonger,
		fmt.Errorf("%s: the cluster of %s cannot be reached: %w", doing, c, err),
	}
}

type noAnswer struct{ within time.Duration }

func (e *noAnswer) Error() string { return fmt.Sprintf("no answer within %s", e.within) }
func (e *noAnswer) Is(target error) bool {
	return target == context.DeadlineExceeded
}

// refused is the error for an answer with a status above 299; message is what
// the server says about it, if anything.
func (c *Client) refused(doing string, code int, message string) error {
	err := fmt.Errorf("%s: %s", doing, message)
	switch code {
	case http.StatusNotFound:
		return &Error{NotFound, "", err}
	case http.StatusConflict:
		return &Error{Conflict, "", err}
	case http.StatusForbidden:
		return &Error{Forbidden, "Ask for the right, or, to do without the cluster, give " + withoutCluster + ".", err}
	case http.StatusUnauthorized:
		return &Error{
			Unauthorized, "Log in again, or, to do without the cluster, give " + withoutCluster + ".",
			fmt.Errorf("%s: the cluster of %s refuses the credentials: %s", doing, c, message),
		}
	}
	return &Error{Failed, "", err}
}
