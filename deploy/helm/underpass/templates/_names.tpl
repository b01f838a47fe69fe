{{- define "underpass.name" -}}
{{- printf "%s" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "underpass.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "underpass.labels" -}}
app.kubernetes.io/name: underpass
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "underpass.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "underpass.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end -}}

{{/* Secrets reach a process as files, never as values of its environment. */}}
{{- define "underpass.controlEnv" -}}
- name: UNDERPASS_ROLE
  value: control
- name: UNDERPASS_PRODUCTION
  value: "true"
- name: UNDERPASS_HOME
  value: /var/lib/underpass
- name: UNDERPASS_ORIGIN
  value: {{ .Values.origin | quote }}
- name: UNDERPASS_OPERATOR_EMAIL
  value: {{ .Values.operatorEmail | quote }}
- name: UNDERPASS_MAIL_FROM
  value: {{ .Values.mailFrom | quote }}
- name: UNDERPASS_ACME_DIRECTORY
  value: {{ .Values.acme.directory | quote }}
{{- with .Values.acme.email }}
- name: UNDERPASS_ACME_EMAIL
  value: {{ . | quote }}
{{- end }}
- name: UNDERPASS_REPLICAS
  value: {{ (ternary .Values.control.autoscaling.maxReplicas .Values.control.replicas .Values.control.autoscaling.enabled) | quote }}
- name: UNDERPASS_METRICS_LISTEN
  value: "0.0.0.0"
- name: UNDERPASS_METRICS_PORT
  value: "9400"
- name: DATABASE_URL_FILE
  value: /run/secrets/underpass/database-url
- name: NATS_URL_FILE
  value: /run/secrets/underpass/nats-url
- name: SMTP_URL_FILE
  value: /run/secrets/underpass/smtp-url
- name: UNDERPASS_MASTER_KEY_FILE
  value: /run/secrets/underpass/master-key
{{- range $name, $value := .Values.control.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}
