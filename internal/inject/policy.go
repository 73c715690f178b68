package inject

import (
	"strconv"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
)

// CheckPolicy finds a policy that is none, nil where there is one or no word
// of it. It is asked at admission only, so that injection here goes on.
func CheckPolicy(inj *config.Injection) *diag.Diagnostic {
	if inj.Policy == config.PolicyEnabled || inj.Policy == config.PolicyDisabled {
		return nil
	}
	for _, k := range inj.Keys {
		if k.Name == "policy" {
			return &diag.Diagnostic{
				Code: CodeIdle, Severity: diag.Warning, Span: k.At,
				Message: "policy is " + strconv.Quote(inj.Policy) + ", which is neither enabled nor disabled: it is not asked here, but the webhook would inject into no pod",
				Fix:     "write enabled or disabled",
			}
		}
	}
	return nil
}
