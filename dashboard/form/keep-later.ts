// What a form shows after a save: the saved values, and each field that was changed while the save was on its way. Pure.

export function keepLater<Values extends object>(saved: Values, sent: Values, now: Values): Values {
  const later = Object.entries(now).filter(([field, value]) => value !== sent[field as keyof Values]);
  return { ...saved, ...Object.fromEntries(later) };
}
