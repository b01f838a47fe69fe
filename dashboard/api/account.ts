// The calls about one's own sign-in: sessions, and command line clients that wait to be let in.
import type { Role } from '@underpass/rules/entity.ts';
import type { Device, Session } from '@underpass/rules/resource.ts';
import { request } from './request.ts';

export const listSessions = (signal?: AbortSignal) => request<Session[]>('GET', '/api/sessions', { signal });

export const deleteSession = (id: string) => request<void>('DELETE', `/api/sessions/${encodeURIComponent(id)}`);

/** The address is typed again by whoever means it. */
export const deleteAccount = (email: string) => request<void>('DELETE', '/api/account', { json: { email } });

const devicePath = (userCode: string) => `/api/device/${encodeURIComponent(userCode)}`;

export const getDevice = (userCode: string, signal?: AbortSignal) => request<Device>('GET', devicePath(userCode), { signal });

export interface DeviceDecision {
  readonly approve: boolean;
  readonly project: string;
  readonly role: Role;
}

export const decideDevice = (userCode: string, decision: DeviceDecision) =>
  request<void>('POST', devicePath(userCode), { json: decision });
