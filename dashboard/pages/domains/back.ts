// Where the Back button of a domain's page leads: to where one came from, else up one level (spec 2, Domain detail).
import { useLocation } from 'react-router';

/** What a link to a domain's page may carry in its state. */
interface BackState {
  readonly back: string;
}

/** `up`: the page above, for those who came by the address. */
export function useBack(up: string): string {
  const { state } = useLocation();
  return (state as BackState | null)?.back ?? up;
}
