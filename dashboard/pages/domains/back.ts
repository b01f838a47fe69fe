// Where the Back button of a domain's page leads: to where one came from, else up one level (spec 2, Domain detail).
import { useLocation } from 'react-router';

/** What a link to a domain's page may carry in its state. */
export interface BackState {
  readonly back: string;
}

export function useBack(): string {
  const { state, pathname } = useLocation();
  const given = (state as BackState | null)?.back;
  return given ?? pathname.split('/').slice(0, -1).join('/');
}
