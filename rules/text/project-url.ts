// Where the project itself is published. Packages state it as their source, and npm compares it with where they were built.

export const projectUrl = 'https://github.com/underpass/underpass';
