// diff.tsx - a unified difference, line by line.

function kind(line: string): string {
  if (line.startsWith("@@") || line.startsWith("---") || line.startsWith("+++")) return "at";
  return line.startsWith("+") ? "add" : line.startsWith("-") ? "cut" : "";
}

export function Diff({ text }: { text: string }) {
  return (
    <pre class="text diff" tabIndex={0}>
      {text
        .replace(/\n$/, "")
        .split("\n")
        .map((line, i) => (
          <span key={i} class={kind(line)}>
            {line}
          </span>
        ))}
    </pre>
  );
}
