// /terms-of-service (spec 2, Public pages).
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { getMeta } from '../../api/public.ts';
import { LegalPage } from './legal-page.tsx';
import { termsOfService } from './terms-of-service.ts';

export const loader = ({ request }: LoaderFunctionArgs) => getMeta(request.signal);

export function Component() {
  const { operator } = useLoaderData<typeof loader>();
  return <LegalPage document={termsOfService(operator)} />;
}
