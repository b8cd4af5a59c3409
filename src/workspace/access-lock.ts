/** Readers share, writers don't; each waits its turn in the order of arrival, so that nobody waits for ever. */
export type AccessLock = {
  shared<T>(work: () => T | Promise<T>): Promise<T>;
  exclusive<T>(work: () => T | Promise<T>): Promise<T>;
};

export function createAccessLock(): AccessLock {
  let lastWriter: Promise<unknown> = Promise.resolve();
  let readers: Promise<unknown>[] = [];
  const settled = (promise: Promise<unknown>): Promise<void> =>
    promise.then(
      () => {},
      () => {},
    );
  return {
    shared(work) {
      const done = lastWriter.then(work);
      readers.push(settled(done));
      return done;
    },
    exclusive(work) {
      const before = Promise.all([lastWriter, ...readers]);
      readers = [];
      const done = before.then(work);
      lastWriter = settled(done);
      return done;
    },
  };
}
