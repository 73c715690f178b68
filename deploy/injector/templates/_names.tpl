{{- define "name" -}}
ingraft-injector{{ with .Values.revision }}-{{ . }}{{ end }}
{{- end }}

{{- define "suffix" -}}
{{- $revision := .Values.configRevision | default .Values.revision -}}
{{- if and $revision (ne $revision "default") }}-{{ $revision }}{{ end }}
{{- end }}

{{- define "labels" -}}
app.kubernetes.io/name: ingraft-injector
app.kubernetes.io/instance: {{ include "name" . }}
{{- end }}
