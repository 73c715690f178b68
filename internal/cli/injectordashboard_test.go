package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every query of the dashboard is about metrics that an injector has, and
// labels that these have.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "deploy", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	s := serveInjector(t, t.TempDir(), "--kubeconfig", controlPlane(t).Kubeconfig(t), "-n", "mesh", "--secret", "certs", "--events", "--missed-every", "1h")
	s.await("serving with a new certificate")
	_, numbers := s.get("/metrics")
	kinds := map[string]string{}
	for line := range strings.Lines(numbers) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(strings.TrimSpace(rest), " ")
			kinds[name] = kind
		}
	}
	labels := map[string]string{ // of metrics, and pod, which scraping adds
		"ingraft_admissions_total": "verdict reason namespace", "ingraft_admission_errors_total": "kind", "ingraft_webhook_requests_total": "code",
		"ingraft_replica_cache_lookups_total": "result", "ingraft_cabundle_repairs_total": "configuration", "ingraft_events_total": "result", "ingraft_missed_pods": "namespace",
	}
	name, by, shown, used := regexp.MustCompile(`\bingraft_\w+`), regexp.MustCompile(`by \(([^)]*)\)`), regexp.MustCompile(`{{(\w+)}}`), map[string]bool{}
	selected := regexp.MustCompile(`{(\w+)[!=~]+"`)
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || len(p.Targets) == 0 {
			t.Errorf("panel %q has no query, or the number of another", p.Title)
		}
		ids[p.ID] = true
		for _, q := range p.Targets {
			metrics := name.FindAllString(q.Expr, -1)
			if len(metrics) == 0 {
				t.Errorf("%s: %s asks for nothing", p.Title, q.Expr)
			}
			has := "pod le"
			for _, m := range metrics {
				base := m
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					if b, ok := strings.CutSuffix(m, suffix); ok && kinds[b] == "histogram" {
						base = b
					}
				}
				used[base] = true
				switch kind := kinds[base]; {
				case kind == "":
					t.Errorf("%s: there is no metric %s", p.Title, m)
				case kind == "histogram" && m == base:
					t.Errorf("%s: %s is a histogram, and has no value itself", p.Title, m)
				case (kind == "counter") != (strings.Contains(q.Expr, "rate(") || strings.Contains(q.Expr, "increase(")) && kind != "histogram":
					t.Errorf("%s: %s is a %s: %s", p.Title, m, kind, q.Expr)
				}
				has += " " + labels[base]
			}
			known := strings.Fields(has)
			var wanted []string
			for _, m := range by.FindAllStringSubmatch(q.Expr, -1) {
				wanted = append(wanted, strings.Split(strings.ReplaceAll(m[1], " ", ""), ",")...)
			}
			for _, m := range append(shown.FindAllStringSubmatch(q.LegendFormat, -1), selected.FindAllStringSubmatch(q.Expr, -1)...) {
				wanted = append(wanted, m[1])
			}
			for _, w := range wanted {
				if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+w+" ") {
					t.Errorf("%s: no metric of %s has a label %s", p.Title, q.Expr, w)
				}
			}
		}
	}
	for m := range kinds {
		if !used[m] && m != "process_start_time_seconds" && !strings.HasSuffix(m, "_reloads_total") && m != "ingraft_config_generation" && m != "ingraft_replica_cache_entries" {
			t.Errorf("the dashboard does not show %s", m)
		}
	}
}
