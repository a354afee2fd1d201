{{- define "repomcp.name" -}}
{{- if contains "repomcp" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-repomcp{{ end -}}
{{- end }}

{{- define "repomcp.selector" -}}
app.kubernetes.io/name: repomcp
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "repomcp.labels" -}}
{{ include "repomcp.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "repomcp.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end }}

{{- /* What is given, and over it what values.yaml says. Clients use the names of the service. */ -}}
{{- define "repomcp.settings" -}}
{{- $name := include "repomcp.name" . }}
{{- $inner := printf "%s.%s" $name .Release.Namespace }}
{{- $hosts := list $name $inner (printf "%s.svc" $inner) (printf "%s.svc.cluster.local" $inner) }}
{{- $settings := dict "root" "/srv/git" "listen" "0.0.0.0:8080" "log-format" "json" }}
{{- /* On the node's disk, where 2 GiB are enough for 10 GiB of text. The memory of a pod is enough for 100 MiB. */ -}}
{{- $_ := set $settings "index-dir" "/tmp/search-index" }}
{{- $_ := set $settings "index-bytes" "2GiB" }}
{{- if .Values.authentication.existingSecret }}
{{- $_ := set $settings "tokens" "/run/secrets/repomcp-tokens/tokens" }}
{{- end }}
{{- if .Values.authentication.issuer }}
{{- $_ := set $settings "oauth-issuer" .Values.authentication.issuer }}
{{- end }}
{{- if .Values.authentication.insecureNoAuth }}
{{- $_ := set $settings "insecure-no-auth" true }}
{{- end }}
{{- if .Values.keys.existingSecret }}
{{- $_ := set $settings "session-key-file" "/run/secrets/repomcp/session-key" }}
{{- $_ := set $settings "link-key-file" "/run/secrets/repomcp/link-keys" }}
{{- end }}
{{- if .Values.access.rules }}
{{- $_ := set $settings "access" "/etc/repomcp/access.yaml" }}
{{- end }}
{{- if .Values.cache.bytes }}
{{- $_ := set $settings "cache-dir" "/var/cache/repomcp" }}
{{- $_ := set $settings "cache-bytes" .Values.cache.bytes }}
{{- end }}
{{- $settings = mergeOverwrite $settings .Values.settings }}
{{- $_ := set $settings "allowed-host" (concat $hosts (get .Values.settings "allowed-host" | default list)) }}
{{- toYaml $settings }}
{{- end }}

{{- /* The port of the admin listener, where the kubelet can reach it; else nothing. */ -}}
{{- define "repomcp.adminPort" -}}
{{- $listen := get .Values.settings "admin-listen" | default "" }}
{{- if not (regexMatch "^(127\\.|localhost:|\\[::1\\]|unix:)" $listen) }}{{ regexFind "[0-9]+$" $listen }}{{ end -}}
{{- end }}
