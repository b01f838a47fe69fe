// What no later try can mend: the mail server says that nobody has the address, and nobody will. Whoever registers names
// one freely, and must not keep the queue full of what is tried for days.

export class NoSuchAddress extends Error {
  override readonly name = 'NoSuchAddress';
}
