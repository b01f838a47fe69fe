// Where the Back button of a domain's page leads: to the previous page, else up one level (spec 2, Domain detail).
import { useLocation } from 'react-router';

/** The state that a link to a domain's page may carry. */
interface BackState {
  readonly back: string;
}

/** `up`: the page above, for users who opened the URL directly. */
export function useBack(up: string): string {
  const { state } = useLocation();
  return (state as BackState | null)?.back ?? up;
}
