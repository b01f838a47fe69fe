// The search of a long operator list. Control searches; the URL holds the query.
import { Search } from 'lucide-react';
import { Form, useSearchParams } from 'react-router';
import { Button } from '../../ui/button.tsx';
import { Input } from '../../ui/input.tsx';

/** For the loader of the same page: the query. */
export const searchOf = (request: Request): string | undefined => new URL(request.url).searchParams.get('q') || undefined;

export function SearchForm({ label }: { readonly label: string }) {
  const [search] = useSearchParams();
  const query = search.get('q') ?? '';
  return (
    <Form role="search" className="flex w-full gap-2 sm:w-auto">
      <Input
        key={query}
        type="search"
        name="q"
        aria-label={label}
        placeholder={label}
        defaultValue={query}
        className="min-w-0 sm:w-64"
      />
      <Button type="submit" icon={<Search aria-hidden="true" />}>
        Search
      </Button>
    </Form>
  );
}
