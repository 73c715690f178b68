package cli

import (
	"fmt"
	"strings"

	"github.com/ingraft/ingraft/internal/admit"
)

// causeOfCall says what is usually behind a call of a webhook that failed with a
// message, as API servers and Go's own libraries write them, and what to do about
// it; both are "" for a message that is not known.
func causeOfCall(message string, h *admit.Hook) (cause, fix string) {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(message, p) {
				return true
			}
		}
		return false
	}
	where := "the webhook's URL"
	if h.Service != "" {
		where = "service " + h.Service
	}
	switch {
	case has("no endpoints available"):
		return "no replica of the injector is ready", "Look at the pods of " + where + ": kubectl describe says why they are not ready."
	case has("no service port"):
		return where + " has no such port", fmt.Sprintf("Give the Service a port %d, or name its own in the webhook configuration.", h.Port)
	case h.Service != "" && has("service \""+h.Service[strings.Index(h.Service, "/")+1:]+"\" not found", "services \""+h.Service[strings.Index(h.Service, "/")+1:]+"\" not found"):
		return where + " is gone, or in another namespace", "Apply the manifest of the injector again, or delete the webhook configuration."
	case has("signed by unknown authority", "failed to verify certificate: x509: certificate specifies", "certificate is not trusted"):
		return "caBundle is empty or another's", "Let the injector keep caBundle right (--webhook-config), or write the certificates of its authority into it."
	case has("certificate has expired", "is not yet valid"):
		return "the certificate of the injector is out of its time", "Look at the log of the injector for why the certificate is not renewed, and at the clocks."
	case has("certificate is valid for", "not valid for any names", "doesn't contain any IP SANs", "legacy Common Name"):
		return "the certificate is for other names", "Give the injector a certificate for " + nameOf(h) + " (--dns-name)."
	case has("context deadline exceeded", "no answer within", "i/o timeout", "connection refused", "no route to host", "network is unreachable", "Client.Timeout", "connection reset", "EOF"):
		if h.Service == "" {
			return where + " cannot be reached", "See that the injector runs, and that a firewall lets its port through."
		}
		return "the API server does not reach the pods' port", "Let the API server's machines reach port 15017 of the nodes and pods (firewall, network policy): they go to the pod's port, not to the Service's. Else the pods are overloaded or gone."
	case has("no such host", "server misbehaving"):
		return "the host of the webhook's URL is not known to the name server", "Mend the URL, or the name server that the API server asks."
	case has("could not find the requested resource", "404 Not Found", "page not found"):
		return "something else listens there, or the path is wrong", "Set the path of clientConfig to /inject or below."
	case has("server gave HTTP response to HTTPS client"):
		return "the port is not the webhook's: it speaks HTTP", "Point the Service's port at the webhook's, 15017."
	}
	return "", ""
}

// nameOf is the name that the certificate of a webhook has to have.
func nameOf(h *admit.Hook) string {
	if name := serverName(h); name != "" {
		return name
	}
	return "the host of " + h.URL
}
