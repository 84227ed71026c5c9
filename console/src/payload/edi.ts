// edi.ts - HL7, X12 and EDIFACT: a line for each segment with its name, and one for each field that has a value.
import type { Token, TokenLine } from "./tokens";

const HL7: Record<string, string> = {
  MSH: "message header", EVN: "event", PID: "patient", PD1: "patient, more", NK1: "next of kin", PV1: "visit", PV2: "visit, more",
  OBR: "observation request", OBX: "observation", ORC: "common order", AL1: "allergy", DG1: "diagnosis", PR1: "procedure",
  GT1: "guarantor", IN1: "insurance", IN2: "insurance, more", NTE: "note", MSA: "acknowledgment", ERR: "error", SCH: "schedule",
  RXO: "pharmacy order", RXE: "pharmacy, encoded", TXA: "document", FT1: "transaction", MRG: "merge", ZZZ: "local",
};

const X12: Record<string, string> = {
  ISA: "interchange begins", GS: "group begins", ST: "transaction begins", BEG: "purchase order", BIG: "invoice", BAK: "order acknowledged",
  BSN: "ship notice", BHT: "hierarchical transaction", REF: "reference", DTM: "date", PER: "contact", N1: "name", N2: "name, more",
  N3: "address", N4: "place", PO1: "order line", IT1: "invoice line", PID: "description", CTT: "totals", TDS: "total", SE: "transaction ends",
  GE: "group ends", IEA: "interchange ends", HL: "level", NM1: "name", CLM: "claim", LX: "line number", SV1: "service", AK1: "group answered",
  AK9: "group result", TD5: "carrier", MEA: "measure", SN1: "shipped item", LIN: "item",
};

const EDIFACT: Record<string, string> = {
  UNA: "delimiters", UNB: "interchange begins", UNG: "group begins", UNH: "message begins", BGM: "beginning", DTM: "date", NAD: "name and address",
  LIN: "line", PIA: "product id", IMD: "description", QTY: "quantity", MOA: "amount", PRI: "price", RFF: "reference", CUX: "currency",
  TAX: "tax", UNS: "section", CNT: "control total", UNT: "message ends", UNE: "group ends", UNZ: "interchange ends", FTX: "text",
  LOC: "place", TDT: "transport", CTA: "contact", COM: "communication", ALC: "allowance or charge", PAT: "payment terms",
};

/** Where `sign` stands without the release character before it. */
function cut(text: string, sign: string, release: string): string[] {
  const parts: string[] = [];
  let part = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === release && release !== "" && i + 1 < text.length) part += c + text[++i]!;
    else if (c === sign) {
      parts.push(part);
      part = "";
    } else part += c;
  }
  parts.push(part);
  return parts;
}

function segment(name: string, fields: string[], names: Record<string, string>, first: number): TokenLine[] {
  const head: TokenLine = [["t", name.padEnd(4)], ["c", names[name] ?? ""]];
  const rows = fields.flatMap((value, i): TokenLine[] =>
    value === "" ? [] : [[["p", `  ${`${name}-${i + first}`.padEnd(8)}`], ["", value] satisfies Token]],
  );
  return [head, ...rows];
}

function segments(texts: string[], sign: string, release: string, names: Record<string, string>): TokenLine[] {
  return texts
    .map((t) => t.trim())
    .filter((t) => t !== "")
    .flatMap((t) => {
      const [name = "", ...fields] = cut(t, sign, release);
      return segment(name, fields, names, 1);
    });
}

export function hl7Lines(text: string): TokenLine[] {
  const clean = text.replace(/^[\s\x0b]+/, "");
  const sign = clean[3] ?? "|";
  return clean
    .split(/[\r\n\x1c]+/)
    .filter((t) => t.trim() !== "")
    .flatMap((t) => {
      const [name = "", ...fields] = t.split(sign);
      /* The sign itself is the first field of a header. */
      return name === "MSH" ? segment(name, [sign, ...fields], HL7, 1) : segment(name, fields, HL7, 1);
    });
}

export function x12Lines(text: string): TokenLine[] {
  const clean = text.trimStart();
  return segments(clean.split(clean[105] ?? "~"), clean[3] ?? "*", "", X12);
}

export function edifactLines(text: string): TokenLine[] {
  const clean = text.trimStart();
  const una = clean.startsWith("UNA") ? clean.slice(3, 9) : ":+.? '";
  const [, sign = "+", , release = "?", , end = "'"] = una;
  const body = clean.startsWith("UNA") ? clean.slice(9) : clean;
  return segments(cut(body, end, release), sign, release, EDIFACT);
}
