const label = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?";
const hostName = new RegExp(`^${label}(?:\\.${label})*$`);

/** `127.1`, `0x7f000001`, `2130706433`: what resolvers take for an address (URL Standard, "ends in a number"). */
export const endsInNumber = (host: string): boolean => /(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i.test(host);

/** Whether a text is the name of a host as it is compared with others: in lower case, no address, no dot at its end. */
export const isHostName = (text: string): boolean => text.length <= 253 && hostName.test(text) && !endsInNumber(text);
