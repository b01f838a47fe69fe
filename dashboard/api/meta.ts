// What the deployment says about itself.
import type { Operator } from '../pages/legal/legal-document.ts';
import { request } from './request.ts';

export interface Meta {
  readonly version: string;
  readonly origin: string;
  readonly operator: Operator;
}

export const getMeta = (signal?: AbortSignal) => request<Meta>('GET', '/api/meta', { signal });
