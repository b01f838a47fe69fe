// Where a deed leads to once it is done. Who has gone elsewhere before the answer came stays there, and sees what the deed changed.
import { useCallback, useEffect, useRef } from 'react';
import { type NavigateOptions, useNavigate, useRevalidator } from 'react-router';

export function useLeadOn(): (path: string, options?: NavigateOptions) => Promise<void> {
  const navigate = useNavigate();
  const { revalidate } = useRevalidator();
  const here = useRef(false);
  useEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);
  return useCallback(async (path, options) => (here.current ? navigate(path, options) : revalidate()), [navigate, revalidate]);
}
