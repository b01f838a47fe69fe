// What the calls take as a body: JSON objects and forms, by name. Calls in JSON may leave out an optional field or send null.

import { z } from 'zod';
import { ProxyProtocol, Role, TunnelType } from '../entity/entity.ts';
import { regionDescriptionMaxChars, regionNamePattern } from '../entity/region.ts';
import { AbuseReportState } from '../entity/resource.ts';
import {
  array,
  blobField,
  booleanField,
  countsField,
  numberField,
  optionalField,
  pemField,
  textField,
  textsField,
  transportsField,
  wordField,
} from '../entity/schema.ts';
import { alertLimits, highestQuotas, limits } from '../limits.ts';
import { blockReasonMaxChars } from '../names/block.ts';
import { abuseTextMaxChars } from '../people/abuse-report.ts';
import { botCheckField, botCheckMaxChars } from '../people/bot-check.ts';
import { emailMaxChars } from '../people/email.ts';
import { optionalNameMaxChars, personNameMaxChars, tickedValues } from '../people/registration.ts';
import { isoTime } from '../text/date.ts';
import { objectNameMaxChars, objectNamePattern } from '../text/object-name.ts';
import { certificateLimits } from '../tunnel/own-certificate.ts';
import { lastsSecondsLeast, lastsSecondsMost } from '../tunnel/quick-tunnel.ts';
import { tunnelNameMaxChars, tunnelNamePattern } from '../tunnel/tunnel-name.ts';
import { visitorLogModes } from '../tunnel/visitor-log.ts';
import { type WebhookFormat, webhookFormats, webhookLimits } from '../tunnel/webhook.ts';
import { pathActions } from '../visit/path-rule.ts';
import { policyLimits } from '../visit/policy-limits.ts';

const role = wordField(Role);
/** A text that the rules refuse when it is empty or blank. */
const filled = (maxLength: number) => ({ pattern: '\\S', maxLength });
const email = { format: 'email', ...filled(emailMaxChars) };
const botCheck = filled(botCheckMaxChars);
const projectName = filled(limits.projectNameChars);
const apiTokenName = filled(limits.apiTokenNameChars);
/** A name of at least two labels. */
const hostname = { format: 'idn-hostname', pattern: '[^.]\\.[^.]' };
const objectName = { pattern: objectNamePattern.source, maxLength: objectNameMaxChars };
const ingressDomains = textsField(hostname, { maxItems: limits.ingressDomainsPerTunnel });
const allow = textsField(
  { description: 'An IP address or a range in CIDR notation.' },
  { minItems: 1, maxItems: limits.rulesPerGroup },
);
/** Empty, or what `parseTime` reads. */
const timePattern = `^$|${isoTime.source}`;
const portRange = {
  description: 'The public ports of tcp tunnels, such as 20000-20099; empty: none.',
  pattern: '^$|^\\d+(-\\d+)?$',
};
const wildcard = { description: 'A host name, with or without `*.` before it; empty: none.', pattern: '^$|[^.]\\.[^.]' };
const port = { minimum: 1, maximum: 65_535 };

export const LoginToken = z.object({ token: textField() });
export const LoginLinkRequest = z.object({ email: textField(email), [botCheckField]: textField(botCheck) });
export const RegistrationForm = z.object({
  'first-name': textField(filled(personNameMaxChars)),
  'last-name': textField(filled(personNameMaxChars)),
  email: textField(email),
  company: textField({ maxLength: optionalNameMaxChars }).optional(),
  'github-link': textField({ maxLength: optionalNameMaxChars }).optional(),
  'twitter-link': textField({ maxLength: optionalNameMaxChars }).optional(),
  'accept-terms': textField({ enum: tickedValues }),
  [botCheckField]: textField(botCheck),
  /** The token of the invitation for which the person registers. */
  invitation: textField().optional(),
});

export const NewDomain = z.object({ name: textField(hostname) });

export const NewOwnCertificate = z.object({
  /** PEM: the certificate and those of its chain, in any order. */
  chain: pemField({ pattern: '-----BEGIN CERTIFICATE-----', maxLength: certificateLimits.chainChars }),
  /** PEM, without a passphrase. */
  privateKey: pemField({ pattern: 'PRIVATE KEY-----', maxLength: certificateLimits.keyChars }),
  fallback: optionalField(booleanField()),
});
export const OwnCertificateChange = z.object({ fallback: booleanField() });

export const NewTunnel = z.object({
  name: textField({ pattern: tunnelNamePattern.source, maxLength: tunnelNameMaxChars }),
  region: textField(),
  /** Empty for an http tunnel: control generates a name under the region's wildcard domain. */
  ingressDomains: optionalField(ingressDomains),
  proxyProtocol: optionalField(wordField(ProxyProtocol)),
  type: optionalField(wordField(TunnelType)),
  /** The policy of an http tunnel. */
  accessPolicy: optionalField(textField()),
  /** A tcp tunnel without a public port: members and holders of tickets reach it by `underpass reach`. */
  private: optionalField(booleanField()),
});
export const TunnelChange = z.object({
  ingressDomains: optionalField(ingressDomains),
  proxyProtocol: optionalField(wordField(ProxyProtocol)),
  securityGroup: optionalField(textField()),
  /** The policy of an http tunnel; empty: none. */
  accessPolicy: optionalField(textField()),
  /** What the visitor log keeps of addresses. `off` deletes what it has; so does every other change of the log. */
  visitorLog: optionalField(wordField(z.enum(visitorLogModes))),
  /** Whether it keeps the query of each path. */
  visitorLogQuery: optionalField(booleanField()),
  /** Whether the edge begins a trace (W3C Trace Context) for a request to an http tunnel that brings none. */
  beginsTraces: optionalField(booleanField()),
});
export const QuickTunnel = z.object({
  /** A secret of the caller that stands for the folder: the same key gets the same address. */
  key: textField({ pattern: '^[\\w-]{22,64}$' }),
  /** Absent: the generated label. */
  name: optionalField(textField({ pattern: tunnelNamePattern.source, maxLength: tunnelNameMaxChars })),
  /** Absent: http. */
  type: optionalField(wordField(TunnelType)),
  /** Absent: the first available region that generates names, or has ports for tcp. */
  region: optionalField(textField()),
  /** Absent: the generated name of the caller's folder. */
  ingressDomains: optionalField(ingressDomains),
  /** Absent: `default`. */
  securityGroup: optionalField(textField()),
  keep: optionalField(booleanField()),
  /** The tunnel ends after this time, connected or not. */
  lastsSeconds: optionalField(numberField({ minimum: lastsSecondsLeast, maximum: lastsSecondsMost })),
  /** Empty: none; absent: as the folder's tunnel has it. */
  accessPolicy: optionalField(textField()),
});
export const ReachTicketRequest = z.object({
  name: textField(apiTokenName),
  /** Absent: it does not end. */
  expiresInDays: optionalField(numberField({ minimum: 1, maximum: limits.apiTokenDays })),
});

export const NewSecurityGroup = z.object({
  name: textField(objectName),
  allow,
});
export const SecurityGroupChange = z.object({ allow });

const people = (maxItems: number) =>
  textsField({ description: 'An e-mail address, or `*@` and a domain for everybody there.' }, { maxItems });
const policy = {
  rules: optionalField(
    array(
      z.object(
        { path: textField({ maxLength: policyLimits.pathChars }), action: wordField(z.enum(pathActions)) },
        'must be a list of objects with path and action.',
      ),
      'must be a list of objects with path and action.',
    ).meta({ maxItems: policyLimits.rules }),
  ),
  members: optionalField(booleanField()),
  people: optionalField(people(policyLimits.people)),
  /** `false` removes it. */
  provider: optionalField(
    z.union(
      [
        z.literal(false),
        z.object({
          issuer: textField({ format: 'uri' }),
          clientId: textField(),
          /** Absent: the secret stays. */
          clientSecret: optionalField(textField()),
          label: optionalField(textField()),
          people: optionalField(people(policyLimits.people)),
          groupClaim: optionalField(textField()),
          groups: optionalField(textsField({}, { maxItems: policyLimits.groups })),
        }),
      ],
      'must be false, or an object with issuer and clientId.',
    ),
  ),
  /** Empty: the password is removed. */
  password: optionalField(textField()),
  tokenHeader: optionalField(textField()),
  origins: optionalField(textsField({ format: 'uri' }, { maxItems: policyLimits.origins })),
  sessionHours: optionalField(numberField({ minimum: policyLimits.sessionHoursLeast, maximum: policyLimits.sessionHoursMost })),
  log: optionalField(booleanField()),
};
export const NewAccessPolicy = z.object({ name: textField(objectName), ...policy });
export const AccessPolicyChange = z.object(policy);
export const AccessTestRequest = z.object({
  /** A page at a tunnel of the policy. */
  url: textField({ format: 'uri' }),
  /** Who visits: an e-mail address, or a machine's token; neither: somebody who has not signed in. */
  email: optionalField(textField()),
  token: optionalField(textField()),
  /** Where from; absent: the caller's address. */
  address: optionalField(textField()),
});
/** Absent: everybody. */
export const VisitorSignOut = z.object({ email: optionalField(textField(email)) });
export const AccessTokenRequest = z.object({
  name: textField(apiTokenName),
  /** Absent: it does not end. */
  expiresInDays: optionalField(numberField({ minimum: 1, maximum: limits.apiTokenDays })),
});
export const AccessLinkRequest = z.object({
  name: textField(apiTokenName),
  expiresInHours: optionalField(numberField({ minimum: 1, maximum: 24 * limits.apiTokenDays })),
  mostUses: optionalField(numberField({ minimum: 1, maximum: policyLimits.linkUses })),
});

export const ProjectName = z.object({ name: textField(projectName) });
export const RoleChange = z.object({ role });
export const NewInvitation = z.object({ email: textField(email), role });
export const InvitationToken = z.object({ token: textField() });
export const ApiTokenRequest = z.object({
  name: textField(apiTokenName),
  role,
  /** Absent: as long as a token may live. */
  expiresInDays: optionalField(numberField({ minimum: 1, maximum: limits.apiTokenDays })),
});

/** Far more than a browser sends: a credential's id has at most 1023 bytes, an RSA key some 300. */
const webAuthnMaxChars = 8192;
const bytes = blobField(webAuthnMaxChars);
const credential = <Shape extends z.ZodRawShape>(response: Shape) =>
  z.object(
    {
      id: bytes,
      rawId: bytes,
      type: z.literal('public-key'),
      response: z.object({ clientDataJSON: bytes, ...response }),
    },
    'must be a credential of WebAuthn.',
  );
const passkeyName = filled(limits.passkeyNameChars);

export const NewPasskey = z.object({
  name: textField(passkeyName),
  credential: credential({ attestationObject: bytes, transports: transportsField() }),
});
export const PasskeyName = z.object({ name: textField(passkeyName) });
export const PasskeyAnswer = z.object({
  credential: credential({ authenticatorData: bytes, signature: bytes, userHandle: optionalField(bytes) }),
});
export const PasskeyRuleChange = z.object({ required: booleanField() });
export const RecoveryCode = z.object({ recoveryCode: textField() });

/** The caller's own address, typed again to confirm. */
export const AccountDeletion = z.object({ email: textField(email) });
export const DeviceRequest = z.object({ name: textField(apiTokenName) });
export const DevicePoll = z.object({ deviceCode: textField() });
export const DeviceApproval = z.object({ role });

export const NewAbuseReport = z.object({
  /** People paste what the address bar shows. */
  host: textField({ description: 'A host name, or a URL of it.', pattern: '\\S' }),
  email: textField(email),
  text: textField(filled(abuseTextMaxChars)),
  [botCheckField]: textField(botCheck),
});

export const NewSubscription = z.object({
  email: textField(email),
  /** Absent or empty: it does not end. */
  expiresAt: optionalField(textField({ description: 'A date or a time, in ISO 8601; empty: no end.', pattern: timePattern })),
});
export const NewBlock = z.object({
  value: textField({
    description: 'An IP address, a range in CIDR notation, or a domain name with all names below it.',
    pattern: '\\S',
  }),
  reason: textField(filled(blockReasonMaxChars)),
});
export const UserChange = z.object({
  suspended: optionalField(booleanField()),
  operator: optionalField(booleanField()),
  /** Lets an account that an invitation approved make projects of its own. */
  ownProjects: optionalField(booleanField()),
});
export const ProjectChange = z.object({
  suspended: optionalField(booleanField()),
  limits: optionalField(countsField(highestQuotas)),
});
export const TunnelSuspension = z.object({ suspended: booleanField() });
export const NewRegion = z.object({
  name: textField({ pattern: regionNamePattern.source }),
  description: textField(filled(regionDescriptionMaxChars)),
  dataPlaneHost: textField(hostname),
  tlsTermination: booleanField(),
  wildcardIngressDomain: optionalField(textField(wildcard)),
  tcpPorts: optionalField(textField(portRange)),
  available: optionalField(booleanField()),
  httpsPort: optionalField(numberField(port)),
  httpPort: optionalField(numberField(port)),
});
export const RegionChange = z.object({
  description: optionalField(textField(filled(regionDescriptionMaxChars))),
  available: optionalField(booleanField()),
  /** Only while the region has no tunnels. */
  tlsTermination: optionalField(booleanField()),
  wildcardIngressDomain: optionalField(textField(wildcard)),
  tcpPorts: optionalField(textField(portRange)),
});
export const AbuseReportChange = z.object({ state: wordField(AbuseReportState) });

export const AlertMailChange = z.object({ mail: booleanField() });
export const AlertSettings = z.object({
  waitSeconds: numberField({ minimum: alertLimits.waitSecondsLeast, maximum: alertLimits.waitSecondsMost }),
});
export const AlertWebhookChange = z.object({
  url: optionalField(textField({ format: 'uri', maxLength: webhookLimits.urlChars })),
  format: wordField(z.enum(Object.keys(webhookFormats) as WebhookFormat[])),
});
