// /terms-of-service (spec 2, Public pages).
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { callApi } from '../../api/request.ts';
import { parseLegalDocument } from './legal-document.ts';
import { LegalPage } from './legal-page.tsx';
import text from './terms-of-service.md?raw';

export const loader = ({ request }: LoaderFunctionArgs) => callApi(publicCalls.getMeta, {}, { signal: request.signal });

export function Component() {
  const { operator } = useLoaderData<typeof loader>();
  return <LegalPage document={parseLegalDocument(text, operator)} />;
}
