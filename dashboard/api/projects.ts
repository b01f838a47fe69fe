// The calls about projects and the people in them.
import type { Project, Role } from '@underpass/rules/entity.ts';
import type { Invitation, InvitationOffer, Member } from '@underpass/rules/resource.ts';
import { request } from './request.ts';

export const createProject = (name: string) => request<Project>('POST', '/api/projects', { json: { name } });

export const renameProject = (id: string, name: string) =>
  request<Project>('PATCH', `/api/projects/${encodeURIComponent(id)}`, { json: { name } });

/** Its name is typed again by whoever means it. */
export const deleteProject = (id: string, name: string) =>
  request<void>('DELETE', `/api/projects/${encodeURIComponent(id)}`, { json: { name } });

const memberPath = (id: string) => `/api/members/${encodeURIComponent(id)}`;

export const listMembers = (project: string, signal?: AbortSignal) =>
  request<Member[]>('GET', '/api/members', { query: { project }, signal });

export const changeMember = (project: string, id: string, role: Role) =>
  request<Member>('PATCH', memberPath(id), { query: { project }, json: { role } });

export const removeMember = (project: string, id: string) => request<void>('DELETE', memberPath(id), { query: { project } });

export const listInvitations = (project: string, signal?: AbortSignal) =>
  request<Invitation[]>('GET', '/api/invitations', { query: { project }, signal });

export const createInvitation = (project: string, email: string, role: Role) =>
  request<Invitation>('POST', '/api/invitations', { query: { project }, json: { email, role } });

export const deleteInvitation = (project: string, id: string) =>
  request<void>('DELETE', `/api/invitations/${encodeURIComponent(id)}`, { query: { project } });

/** Consumes nothing. */
export const checkInvitation = (token: string, signal?: AbortSignal) =>
  request<InvitationOffer>('POST', '/api/invitations/check', { json: { token }, signal });

export const acceptInvitation = (token: string) => request<Project>('POST', '/api/invitations/accept', { json: { token } });
