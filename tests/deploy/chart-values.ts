// Values of the chart that tests install: with the least, with everything, and as the first installation has them.

export const region = { name: 'eu', host: 'eu.example.com', existingSecret: 'underpass-eu' };

export const smallest = {
  origin: 'https://console.example.com',
  operatorEmail: 'ops@example.com',
  mailFrom: 'Underpass <no-reply@example.com>',
  existingSecret: 'underpass',
  regions: [region],
};

export const largest = {
  ...smallest,
  origin: 'https://console.example.com:8443',
  image: { digest: `sha256:${'0'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  secretKeys: [
    'turnstile-secret',
    'subscription-lookup-token',
    'subscription-webhook-secret',
    'usage-webhook-secret',
    'acme-eab-hmac',
    'rfc2136-key',
  ],
  ipFamily: 'ipv6',
  control: {
    autoscaling: { enabled: true },
    trustedProxies: ['10.0.0.0/8'],
    env: {
      UNDERPASS_LOG: 'debug',
      UNDERPASS_TURNSTILE_SITE_KEY: 'site',
      UNDERPASS_USAGE_WEBHOOK_URL: 'https://billing.example.com/usage',
      UNDERPASS_ACME_EAB_KEY_ID: 'account',
      UNDERPASS_RFC2136_SERVER: '192.0.2.1',
      UNDERPASS_RFC2136_ZONE: 'example.com',
      UNDERPASS_RFC2136_KEY_NAME: 'key',
    },
    ingress: { className: 'nginx', tlsSecret: 'console-tls', annotations: { 'example.com/a': 'b' } },
    podAnnotations: { 'example.com/a': 'b' },
    nodeSelector: { disk: 'fast' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } },
    priorityClassName: 'high',
  },
  edge: {
    autoscaling: { enabled: true, targetConnections: 6000 },
    env: { UNDERPASS_EDGE_CONNECTIONS: 1_000_000, UNDERPASS_OTLP_URL: 'http://collector.example.com:4318' },
  },
  regions: [
    {
      ...region,
      hopSecret: true,
      otlpHeaders: true,
      autoscaling: { enabled: false },
      replicas: 3,
      trustedBalancers: ['10.0.0.0/8', 'fd00::/8'],
      tcpPorts: '20000-20002',
      service: {
        externalTrafficPolicy: 'Cluster',
        loadBalancerClass: 'example.com/nlb',
        loadBalancerSourceRanges: ['192.0.2.0/24'],
        annotations: { 'example.com/a': 'b' },
      },
    },
    {
      ...region,
      name: 'us',
      host: 'us.example.com',
      existingSecret: 'underpass-us',
      workers: 0,
      leaveSeconds: 0,
      drainSeconds: 600,
      resources: { limits: { memory: '4Gi' } },
      env: { UNDERPASS_LOG: 'info' },
      service: { type: 'ClusterIP' },
    },
  ],
  spread: { node: 'DoNotSchedule' },
  metrics: { podMonitor: true, labels: { release: 'prometheus' } },
  networkPolicy: {
    dashboard: { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }] },
    database: { ports: [6432], to: [{ podSelector: { matchLabels: { app: 'pooler' } } }] },
    hops: { peers: [{ ipBlock: { cidr: '192.0.2.0/24' } }] },
  },
};

/** What the first installation has: no region, and no object that needs an ingress controller or network policies. */
export const bare = { ...smallest, regions: [], control: { ingress: { enabled: false } }, networkPolicy: { enabled: false } };
