// What the calls take as a body: JSON objects and forms, by name. Calls in JSON may leave out an optional field or send null.

import { z } from 'zod';
import { abuseTextMaxChars } from '../abuse-report.ts';
import { botCheckField, botCheckMaxChars } from '../bot-check.ts';
import { ProxyProtocol, Role, TunnelType } from '../entity.ts';
import { limits, projectQuotas } from '../limits.ts';
import { AbuseReportState } from '../resource.ts';
import { booleanField, countsField, numberField, optionalField, textField, textsField, wordField } from '../schema.ts';
import { securityGroupNameMaxChars, securityGroupNamePattern } from '../security-group-name.ts';
import { tunnelNameMaxChars, tunnelNamePattern } from '../tunnel-name.ts';

const role = wordField(Role);
const email = { format: 'email' };
const botCheck = { maxLength: botCheckMaxChars };
const projectName = { maxLength: limits.projectNameChars };
const apiTokenName = { maxLength: limits.apiTokenNameChars };
const hostnames = { format: 'idn-hostname' };
const ranges = { description: 'An IP address or a range in CIDR notation.' };
const port = { minimum: 1, maximum: 65_535 };

export const LoginToken = z.object({ token: textField() });
export const LoginLinkRequest = z.object({ email: textField(email), [botCheckField]: textField(botCheck) });
export const RegistrationForm = z.object({
  'first-name': textField(),
  'last-name': textField(),
  email: textField(email),
  company: textField().optional(),
  'github-link': textField().optional(),
  'twitter-link': textField().optional(),
  'accept-terms': textField({ description: '`on` or `true`' }),
  [botCheckField]: textField(botCheck),
});

export const NewDomain = z.object({ name: textField(hostnames) });

export const NewTunnel = z.object({
  name: textField({ pattern: tunnelNamePattern.source, maxLength: tunnelNameMaxChars }),
  region: textField(),
  /** Empty for an http tunnel: control generates a name under the region's wildcard domain. */
  ingressDomains: optionalField(textsField(hostnames)),
  proxyProtocol: optionalField(wordField(ProxyProtocol)),
  type: optionalField(wordField(TunnelType)),
});
export const TunnelChange = z.object({
  ingressDomains: optionalField(textsField(hostnames)),
  proxyProtocol: optionalField(wordField(ProxyProtocol)),
  securityGroup: optionalField(textField()),
});

export const NewSecurityGroup = z.object({
  name: textField({ pattern: securityGroupNamePattern.source, maxLength: securityGroupNameMaxChars }),
  allow: textsField(ranges),
});
export const SecurityGroupChange = z.object({ allow: textsField(ranges) });

export const ProjectName = z.object({ name: textField(projectName) });
export const RoleChange = z.object({ role });
export const NewInvitation = z.object({ email: textField(email), role });
export const InvitationToken = z.object({ token: textField() });
export const ApiTokenRequest = z.object({
  name: textField(apiTokenName),
  role,
  /** Absent: the token does not expire. */
  expiresInDays: optionalField(numberField({ minimum: 1, maximum: limits.apiTokenDays })),
});

/** The caller's own address, typed again to confirm. */
export const AccountDeletion = z.object({ email: textField(email) });
export const DeviceRequest = z.object({ name: textField(apiTokenName) });
export const DevicePoll = z.object({ deviceCode: textField() });
export const DeviceDecision = z.object({ approve: booleanField(), project: textField(), role });

export const NewAbuseReport = z.object({
  host: textField(),
  email: textField(email),
  text: textField({ maxLength: abuseTextMaxChars }),
  [botCheckField]: textField(botCheck),
});

export const NewSubscription = z.object({
  email: textField(email),
  expiresAt: optionalField(textField({ description: 'A date or a time, in ISO 8601.' })),
});
export const UserChange = z.object({ suspended: optionalField(booleanField()), operator: optionalField(booleanField()) });
export const ProjectChange = z.object({
  suspended: optionalField(booleanField()),
  limits: optionalField(countsField(Object.keys(projectQuotas) as (keyof typeof projectQuotas)[])),
});
export const TunnelSuspension = z.object({ suspended: booleanField() });
export const NewRegion = z.object({
  name: textField(),
  description: textField(),
  dataPlaneHost: textField({ format: 'hostname' }),
  tlsTermination: booleanField(),
  wildcardIngressDomain: optionalField(textField({ format: 'hostname' })),
  available: optionalField(booleanField()),
  httpsPort: optionalField(numberField(port)),
  httpPort: optionalField(numberField(port)),
});
export const RegionChange = z.object({
  description: optionalField(textField()),
  available: optionalField(booleanField()),
  wildcardIngressDomain: optionalField(textField()),
});
export const AbuseReportChange = z.object({ state: wordField(AbuseReportState) });
