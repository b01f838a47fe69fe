// Who is signed in, and signing in and out (spec 7, the first six calls).
import type { Project, User } from '@underpass/rules/entity.ts';
import type { LoginLinkCheck } from '@underpass/rules/resource.ts';
import { isApiError } from './error.ts';
import { request } from './request.ts';

/** undefined: nobody is signed in. */
export async function getUser(signal?: AbortSignal): Promise<User | undefined> {
  try {
    return await request<User>('GET', '/api/user', { signal });
  } catch (error) {
    if (isApiError(error) && error.status === 401) return undefined;
    throw error;
  }
}

export const listProjects = (signal?: AbortSignal) => request<Project[]>('GET', '/api/projects', { signal });

export const login = (token: string) => request<void>('POST', '/auth/login', { form: new URLSearchParams({ token }) });

/** Whether this browser asked for the link; the answer consumes nothing. */
export const checkLoginLink = (token: string) =>
  request<LoginLinkCheck>('POST', '/auth/link', { form: new URLSearchParams({ token }) });

export const logout = () => request<void>('POST', '/auth/logout');

export const requestMagicLink = (form: FormData) => request<void>('POST', '/auth/magiclink', { form });

export const register = (form: FormData) => request<void>('POST', '/auth/register', { form });
