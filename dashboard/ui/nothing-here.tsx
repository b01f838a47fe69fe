// Replaces an empty list that has no picture of its own.
import { EmptyState, type EmptyStateProps } from './empty-state.tsx';
import { NothingHereIllustration } from './illustrations/nothing-here.tsx';

export function NothingHere(props: Omit<EmptyStateProps, 'illustration'>) {
  return <EmptyState {...props} illustration={<NothingHereIllustration />} />;
}
