export type Send = () => Promise<never>;
