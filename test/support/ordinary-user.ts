/** Beyond those of sandboxes in tests (test/support/checkout.ts), without an entry in /etc/passwd; mostly one for each process. */
const uids = { first: 64_400, last: 64_499 };

/**
 * The setup file of the second run of the attacks, where the first is root's: makes the file's own process an ordinary user before a
 * test of it is read. Real, effective and saved id are the user's, there is no group but its own, and with root's id go all
 * capabilities (setuid(2), capabilities(7)): what `setpriv --reuid --regid --clear-groups` would start, without a start.
 */
if (process.geteuid?.() === 0) {
  const uid = uids.first + (process.pid % (uids.last - uids.first + 1));
  process.setgroups?.([]);
  process.setgid?.(uid);
  process.setuid?.(uid);
}
