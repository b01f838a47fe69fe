// The calls about verified domains (spec 7).
import type { Domain } from '@underpass/rules/entity.ts';
import { request, segment } from './request.ts';

const domainPath = (apexName: string) => `/api/domains/${segment(apexName)}`;

export const listDomains = (project: string, signal?: AbortSignal) =>
  request<Domain[]>('GET', '/api/domains', { query: { project }, signal });

export const getDomain = (project: string, apexName: string, signal?: AbortSignal) =>
  request<Domain>('GET', domainPath(apexName), { query: { project }, signal });

export const createDomain = (project: string, name: string) =>
  request<Domain>('POST', '/api/domains', { query: { project }, json: { name } });

export const deleteDomain = (project: string, apexName: string) =>
  request<void>('DELETE', domainPath(apexName), { query: { project } });

export const verifyDomain = (project: string, apexName: string) =>
  request<Domain>('POST', `${domainPath(apexName)}/verify`, { query: { project } });
