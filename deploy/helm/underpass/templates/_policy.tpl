{{- define "underpass.metricsRule" -}}
- ports:
    - port: metrics
  {{- with .Values.networkPolicy.metrics.from }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "underpass.dnsRule" -}}
- ports:
    {{- range .Values.networkPolicy.dns.ports }}
    - { port: {{ . }}, protocol: UDP }
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
  {{- with .Values.networkPolicy.dns.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Takes `ports` and `to`. */}}
{{- define "underpass.egressRule" -}}
- ports:
    {{- range .ports }}
    - port: {{ . }}
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
