// Any path that no route knows (spec 2, 404 page).
import { NotFoundIllustration } from '../brand/illustrations/not-found.tsx';
import { paths } from '../paths.ts';
import { ButtonLink } from '../ui/button.tsx';
import { AuthOutcome } from './auth-card.tsx';

export function Component() {
  return (
    <AuthOutcome
      takesFocus={false}
      illustration={<NotFoundIllustration />}
      title="Page not found."
      text="Sorry, we couldn't find the page you're looking for."
      action={<ButtonLink to={paths.home()}>Back to home</ButtonLink>}
    />
  );
}
