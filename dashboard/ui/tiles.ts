// A list whose items stand side by side where there is room. Each draws its upper and left line, and the list hides the outer ones: an
// empty last place stays plain.

export const tiles = 'grid overflow-hidden rounded-b-lg border-t [&>li]:-mt-px [&>li]:-ml-px [&>li]:border-t [&>li]:border-l';
