// Opens the next page after an action succeeds. If the person has left the page before the answer arrives, reloads the data of the
// page that they are on instead.
import { useCallback, useEffect, useRef } from 'react';
import { type NavigateOptions, useNavigate, useRevalidator } from 'react-router';
import { letPass } from '../unsaved/use-unsaved.ts';

export function useNavigateOrReload(): (path: string, options?: NavigateOptions) => Promise<void> {
  const navigate = useNavigate();
  const { revalidate } = useRevalidator();
  const mounted = useRef(false);
  useEffect(() => {
    mounted.current = true;
    return () => {
      mounted.current = false;
    };
  }, []);
  return useCallback(
    async (path, options) => (mounted.current ? letPass(() => navigate(path, options)) : revalidate()),
    [navigate, revalidate],
  );
}
