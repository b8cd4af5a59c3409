/** ACI-84: the first guess, corrected by what the server counts. */
const charsPerToken = 3.5;

export const tokensOf = (chars: number): number => Math.ceil(chars / charsPerToken);
