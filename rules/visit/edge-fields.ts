// The header fields that the edge acts on, in lower case: the parser of the data plane reads this list, and no access policy may
// name one of them.

/** The edge treats each of them in its own way. */
export const messageFields = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'upgrade',
  'expect',
  'te',
  'via',
  'date',
  'max-forwards',
  'underpass-error',
  'cookie',
] as const;

/** Meant for one hop only, or dangerous to pass on. */
export const hopFields: readonly string[] = [
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'http2-settings',
  // httpoxy: a CGI upstream would read it as the HTTP_PROXY of its own process.
  'proxy',
];

/** Proxies invent their own: -For, -Proto, -Client-Cert, -Email, ... Only the proxy in front of a service may set any of them. */
export const forwardedPrefix = 'x-forwarded-';
/** Who the visitor is, by the tunnel's access policy. */
export const visitPrefix = 'x-underpass-';
/** Further fields from which libraries take a visitor's address. */
export const identityFields: readonly string[] = [
  'forwarded',
  'x-forwarded',
  'forwarded-for',
  'x-original-forwarded-for',
  'x-original-host',
  'x-original-proto',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-proxyuser-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-host',
  'x-url-scheme',
  'x-scheme',
  'front-end-https',
  'true-client-ip',
  'client-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'do-connecting-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'akamai-client-ip',
  'proxy-client-ip',
  'wl-proxy-client-ip',
  'remote-addr',
  'x-originating-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-appengine-user-ip',
  'x-envoy-external-address',
  'x-vercel-forwarded-for',
  // The names that CGI gives them.
  'http-client-ip',
  'http-forwarded',
  'http-forwarded-for',
  'http-x-cluster-client-ip',
  'http-x-forwarded',
  'http-x-forwarded-for',
  'http-x-real-ip',
];

/**
 * Fields in which other sign-in proxies tell a service who the visitor is. A service that stood behind one still trusts them, so a
 * visitor of a tunnel with an access policy must not set them. Without a policy they pass: such a proxy may stand in between.
 */
export const assertedFields: readonly string[] = [
  // Authelia and Apache.
  ...['remote-user', 'remote-name', 'remote-email', 'remote-groups'],
  ...['x-remote-user', 'x-remote-name', 'x-remote-email', 'x-remote-group', 'x-remote-groups'],
  // Grafana's example, and Traefik's.
  ...['x-webauth-user', 'x-webauth-name', 'x-webauth-email', 'x-webauth-groups', 'x-webauth-role'],
  ...['x-authenticated-user', 'x-authenticated-userid', 'x-authenticated-email', 'x-authenticated-groups'],
  // Kong and APISIX.
  ...[
    'x-consumer-id',
    'x-consumer-custom-id',
    'x-consumer-username',
    'x-consumer-groups',
    'x-credential-identifier',
    'x-userinfo',
  ],
  // Google's identity-aware proxy and API gateways, WSO2, Istio's examples.
  ...['x-goog-iap-jwt-assertion', 'x-apigateway-api-userinfo', 'x-endpoint-api-userinfo', 'x-jwt-assertion', 'x-jwt-payload'],
  // Azure, and RFC 9440.
  ...['x-arr-clientcert', 'client-cert', 'client-cert-chain'],
  // Keycloak's gatekeeper. X-Auth-Token is also a credential of services, so it passes.
  ...['x-auth-audience', 'x-auth-email', 'x-auth-groups', 'x-auth-roles', 'x-auth-subject', 'x-auth-user'],
  ...['x-auth-userid', 'x-auth-username', 'x-auth-name', 'x-auth-given-name', 'x-auth-family-name'],
  // Teleport, Nexus, and the gateways of IBM and Oracle.
  ...['teleport-jwt-assertion', 'x-sso-user', 'iv-user', 'iv-groups', 'iv-creds'],
  ...['oam-remote-user', 'oam-remote-user-email', 'oam-remote-user-groups', 'oam-identity-domain'],
  'x-token-subject',
];

/** The same for fields that begin so. */
export const assertedPrefixes: readonly string[] = [
  ...['cf-access-', 'x-auth-request-', 'x-vouch-', 'x-authentik-', 'x-pomerium-', 'tailscale-', 'ngrok-auth-'],
  ...['x-goog-authenticated-user-', 'x-amzn-oidc-', 'x-amzn-mtls-', 'x-ms-client-principal', 'x-ms-token-'],
  // Apache's mod_auth_openidc and mod_auth_mellon, Shibboleth, SiteMinder, Kubernetes behind a proxy.
  ...['oidc-claim-', 'oidc-id-token', 'oidc-access-token', 'mellon-', 'shib-', 'sm-user', 'sm-universalid', 'x-remote-extra-'],
  ...['ssl-client-', 'x-ssl-', 'x-client-cert', 'x-client-verify', 'x-client-dn', 'x-tls-client-'],
];

/**
 * Fields from which frameworks and proxies take the path instead of the request line. An access policy judges the request line, so
 * a visitor could ask for a public path and name another one here.
 */
export const pathFields: readonly string[] = [
  'x-original-url',
  'x-original-uri',
  'x-rewrite-url',
  'x-envoy-original-path',
  'x-waws-unencoded-url',
  // The part of the path that a framework cuts off.
  'x-script-name',
  // Rack asks the server in front of it for another file by these.
  'x-sendfile-type',
  'x-accel-mapping',
];

/** Fields from which frameworks take the method of a POST. */
export const methodFields: readonly string[] = ['x-http-method-override', 'x-http-method', 'x-method-override'];

const edgeFields = new Set([
  ...messageFields,
  ...hopFields,
  ...identityFields,
  ...assertedFields,
  ...pathFields,
  ...methodFields,
]);

/** `name`: in lower case. A mark other than "-" counts as "-", because CGI and its like read such names as one variable. */
export function isEdgeField(name: string): boolean {
  const folded = name.replace(/[^0-9a-z]/g, '-');
  return (
    edgeFields.has(folded) || [forwardedPrefix, visitPrefix, ...assertedPrefixes].some((prefix) => folded.startsWith(prefix))
  );
}
