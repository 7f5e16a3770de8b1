{{- define "edb.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Name of what is of the whole cluster. One name for every release that works in all namespaces, so that Helm refuses a second. */}}
{{- define "edb.clusterName" -}}
{{- if .Values.namespaces }}{{ include "edb.fullname" . }}{{ else }}{{ .Chart.Name }}{{ end -}}
{{- end -}}

{{- define "edb.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "edb.fullname" .) -}}
{{- end -}}

{{- define "edb.labels" -}}
app.kubernetes.io/name: externaldatabase-operator
app.kubernetes.io/part-of: externaldatabase
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "edb.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "edb.serviceAccountName" . }}
    namespace: {{ .Release.Namespace }}
{{- end -}}

{{- define "edb.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* host:port of a URL. */}}
{{- define "edb.hostOf" -}}
{{- $url := urlParse . -}}
{{- if regexMatch ":[0-9]+$" $url.host -}}
{{ $url.host }}
{{- else -}}
{{ $url.host }}:{{ ternary "443" "80" (eq $url.scheme "https") }}
{{- end -}}
{{- end -}}

{{/* Every host and port that the process may reach or listen on. */}}
{{- define "edb.allowedHosts" -}}
{{- $hosts := list "kubernetes.default.svc:443" "0.0.0.0:8080" -}}
{{- if eq .Values.provider "http" -}}
{{- $hosts = append $hosts (include "edb.hostOf" .Values.http.url) -}}
{{- else if eq .Values.provider "postgres" -}}
{{- $hosts = concat $hosts .Values.postgres.hosts -}}
{{- else if eq .Values.provider "aws-rds" -}}
{{- if .Values.awsRds.endpointUrl -}}
{{- $hosts = append $hosts (include "edb.hostOf" .Values.awsRds.endpointUrl) -}}
{{- else -}}
{{- $domain := ternary "amazonaws.com.cn" "amazonaws.com" (hasPrefix "cn-" .Values.awsRds.region) -}}
{{- $hosts = append $hosts (printf "rds.%s.%s:443" .Values.awsRds.region $domain) -}}
{{- $hosts = append $hosts (printf "sts.%s.%s:443" .Values.awsRds.region $domain) -}}
{{- end -}}
{{- if .Values.awsRds.podIdentity -}}
{{- $hosts = append $hosts "169.254.170.23:80" -}}
{{- end -}}
{{- end -}}
{{- concat $hosts .Values.allowNet | uniq | join "," -}}
{{- end -}}

{{/* What the schema cannot say of values that have to go together. */}}
{{- define "edb.check" -}}
{{- if and (eq .Values.provider "http") (not .Values.http.url) -}}
{{- fail "provider is http: set http.url to the cloud's base URL (and http.tokenSecret.name to the Secret with its token)" -}}
{{- end -}}
{{- if and (eq .Values.provider "postgres") (not .Values.postgres.serversSecret.name) -}}
{{- fail "provider is postgres: set postgres.serversSecret.name to the Secret with one postgres:// URL a line" -}}
{{- end -}}
{{- if and (eq .Values.provider "postgres") (not .Values.postgres.hosts) -}}
{{- fail "provider is postgres: set postgres.hosts to the host:port of each server; the process may reach no other" -}}
{{- end -}}
{{- if and (eq .Values.provider "aws-rds") (not .Values.awsRds.region) -}}
{{- fail "provider is aws-rds: set awsRds.region" -}}
{{- end -}}
{{- if and (eq .Values.provider "simulated") (gt (int .Values.replicas) 1) -}}
{{- fail "provider is simulated: set replicas to 1, for its cloud is in the memory of one process" -}}
{{- end -}}
{{- if and (eq .Values.connectionSecrets.scope "named") (not .Values.connectionSecrets.namespaces) -}}
{{- fail "connectionSecrets.scope is named: set connectionSecrets.namespaces to where Secrets may be kept" -}}
{{- end -}}
{{- if and (ne .Values.connectionSecrets.scope "named") .Values.connectionSecrets.namespaces -}}
{{- fail "connectionSecrets.namespaces goes with connectionSecrets.scope named: leave one of them out" -}}
{{- end -}}
{{- if .Values.namespaces -}}
{{- range .Values.connectionSecrets.namespaces -}}
{{- if not (has . $.Values.namespaces) -}}
{{- fail (printf "connectionSecrets.namespaces names %q, which is not one of namespaces: the operator does not work there" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.awsRds.roleArn (not .Values.serviceAccount.create) -}}
{{- fail "awsRds.roleArn annotates the chart's own ServiceAccount: annotate yours, or leave serviceAccount.create on" -}}
{{- end -}}
{{- end -}}
