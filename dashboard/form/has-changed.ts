// Tells if a form has something that is not saved. Pure.

/** True if a value differs from the kept one. A value is a text, a choice or a list of them. */
export function hasChanged<Values extends object>(values: Values, kept: Values): boolean {
  return Object.entries(values).some(([field, value]) => {
    const before = kept[field as keyof Values];
    return value !== before && JSON.stringify(value) !== JSON.stringify(before);
  });
}
