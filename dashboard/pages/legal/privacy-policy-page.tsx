// /privacy-policy (spec 2, Public pages).
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { callApi } from '../../api/request.ts';
import { LegalPage } from './legal-page.tsx';
import { privacyPolicy } from './privacy-policy.ts';

export const loader = ({ request }: LoaderFunctionArgs) => callApi(publicCalls.getMeta, {}, { signal: request.signal });

export function Component() {
  const { operator } = useLoaderData<typeof loader>();
  return <LegalPage document={privacyPolicy(operator)} />;
}
