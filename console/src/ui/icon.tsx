// icon.tsx - small pictures, drawn in the colour of the text around them.

const PATHS = {
  overview: "M2 9h5V2H2zM9 14h5V7H9zM2 14h5v-3H2zM9 2v3h5V2z",
  map: "M4 4.5a2 2 0 1 0-.1 0M12 4.5a2 2 0 1 0-.1 0M8 15a2 2 0 1 0-.1 0M4 5v2q0 2 4 4M12 5v2q0 2-4 4",
  documents: "M3 1.5h7l3 3v10H3zM10 1.5v3h3M5.5 8h5M5.5 11h5",
  dead: "M8 1.5l6.5 12h-13zM8 6v4M8 11.7v.6",
  systems: "M2 2.5h12v4H2zM2 9.5h12v4H2zM4.5 4.5h.1M4.5 11.5h.1",
  config: "M2 4h6M12 4h2M2 8h1M7 8h7M2 12h8M14 12h0M10 4a1.6 1.6 0 1 0-.1 0M5 8a1.6 1.6 0 1 0-.1 0M12 12a1.6 1.6 0 1 0-.1 0",
  alerts: "M8 1.8a4 4 0 0 0-4 4v3.4L2.5 12h11L12 9.2V5.8a4 4 0 0 0-4-4zM6.5 14.2h3",
  jobs: "M8 14.5a6.5 6.5 0 1 0-.1 0M8 4v4.2l3 1.8",
  links: "M2 3.5h4.5v9H2zM9.5 3.5H14v9H9.5zM6.5 6.5h3M6.5 9.5h3",
  health: "M1.5 8.5h3l2-5 3 9 2-4h3",
  users: "M6 7.5a2.7 2.7 0 1 0-.1 0M1.5 14q0-4 4.5-4t4.5 4M11 7.2a2.2 2.2 0 1 0-1-4.2M12 9.8q2.5.4 2.5 4",
  audit: "M3 1.5h10v13H3zM5.5 5h5M5.5 8h5M5.5 11l1.3 1.3 2.7-2.6",
  warn: "M8 1.5l6.5 12h-13zM8 6v4M8 11.7v.6",
  good: "M2.5 8.5l3.5 3.5 7.5-8",
  info: "M8 14.5a6.5 6.5 0 1 0-.1 0M8 7.5v4M8 4.7v.6",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  pause: "M5 3v10M11 3v10",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 1 1 0 12",
  out: "M9 3H3v10h6M7 8h7M11.5 5.5L14 8l-2.5 2.5",
  down: "M4 6l4 4 4-4",
  right: "M3 8h10M9.5 4.5L13 8l-3.5 3.5",
  download: "M8 2v8M4.5 7L8 10.5 11.5 7M2.5 13.5h11",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

export function Brand() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <path d="M5 10l5 13 6-13 6 13 5-13" fill="none" stroke="var(--on-accent)" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
