// The mail server says that an address does not exist, so trying again is useless. Anybody can register any address:
// without this error, invented ones would stay in the queue for days.

export class NoSuchAddress extends Error {
  override readonly name = 'NoSuchAddress';
}
