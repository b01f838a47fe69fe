// /privacy-policy (spec 2, Public pages).
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { getMeta } from '../../api/public.ts';
import { LegalPage } from './legal-page.tsx';
import { privacyPolicy } from './privacy-policy.ts';

export const loader = ({ request }: LoaderFunctionArgs) => getMeta(request.signal);

export function Component() {
  const { operator } = useLoaderData<typeof loader>();
  return <LegalPage document={privacyPolicy(operator)} />;
}
