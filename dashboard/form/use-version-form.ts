// The form of something saved, which edits one version of it: a save names that version, so control refuses to overwrite a newer one.
import { useEffect, useEffectEvent, useState } from 'react';
import { useRevalidator } from 'react-router';
import { isStale } from '../api/error.ts';
import { toast } from '../ui/overlay/toast.tsx';
import { type Form, type FormOptions, useForm } from './use-form.ts';
import { decideVersion, newestOf } from './version.ts';

interface Version {
  readonly name: string;
  readonly updatedAt: string;
}

interface VersionFormOptions<Saved extends Version, Values extends object, Change> {
  /** The newest version that the page has loaded. */
  readonly loaded: Saved;
  readonly valuesOf: (saved: Saved) => Values;
  readonly isChanged: (values: Values, saved: Saved) => boolean;
  readonly parse: (values: Values, saved: Saved) => ReturnType<FormOptions<Values, Change>['parse']>;
  /** Resolves with the saved version. */
  readonly save: (change: Change, basedOn: Saved) => Promise<Saved>;
  /** What it is, for the toast after a save. */
  readonly what: string;
}

export interface VersionForm<Values> {
  readonly form: Form<Values>;
  readonly changed: boolean;
  /** Somebody saved a newer version. */
  readonly isOutdated: boolean;
  readonly loadNewest: () => void;
}

export function useVersionForm<Saved extends Version, Values extends object, Change>(
  options: VersionFormOptions<Saved, Values, Change>,
): VersionForm<Values> {
  const { loaded, valuesOf, isChanged, parse, save, what } = options;
  const { revalidate } = useRevalidator();
  const [base, setBase] = useState(loaded);
  const form = useForm({
    initial: valuesOf(loaded),
    parse: (values) => parse(values, base),
    isChanged: (values) => isChanged(values, base),
    send: async (change: Change, sent) => {
      const saved = await save(change, base).catch((error: unknown) => {
        if (isStale(error)) revalidate();
        throw error;
      });
      startFrom(saved, sent);
      toast.done(`${what} ${saved.name} saved.`);
      await revalidate();
    },
  });
  const startFrom = (saved: Saved, sent?: Values) => {
    setBase(saved);
    form.reset(valuesOf(saved), sent);
  };
  const newest = newestOf(loaded, base);
  const changed = isChanged(form.values, base);
  const decision = decideVersion(newest, base, changed);
  const onNewer = useEffectEvent(startFrom);
  useEffect(() => {
    if (decision === 'take') onNewer(newest);
  }, [decision, newest]);
  return { form, changed, isOutdated: newest !== base, loadNewest: () => startFrom(newest) };
}
