/** The price of a booking in cents: each started quarter of an hour counts in full. */
export function priceOf(lengthMinutes, centsPerHour) {
  const quarters = Math.ceil(lengthMinutes / 15);
  return Math.round((quarters * centsPerHour) / 4);
}

/** Cents as an amount with two decimals. */
export function formatCents(cents) {
  const sign = cents < 0 ? "-" : "";
  const whole = Math.floor(Math.abs(cents) / 100);
  return `${sign}${whole}.${String(Math.abs(cents) % 100).padStart(2, "0")}`;
}
