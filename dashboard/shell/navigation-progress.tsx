// A progress bar under the top bar while the next page loads.
import { useNavigation } from 'react-router';

export function NavigationProgress() {
  const { state } = useNavigation();
  if (state === 'idle') return null;
  return (
    <div
      role="progressbar"
      aria-label="Loading page"
      className="absolute inset-x-0 -bottom-0.5 h-0.5 animate-lanes text-accent lanes"
    />
  );
}
