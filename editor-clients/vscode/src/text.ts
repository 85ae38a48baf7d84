// Text from models, tools and files is data: made harmless before a person sees it.

/** Blanks, controls, and what hides text or reverses its order: in a row, each run of them is one space. */
// eslint-disable-next-line no-control-regex
const BLANK = /[\u0000-\u0020\u007f-\u00a0\u061c\u200e\u200f\u2028-\u202f\u2066-\u2069\ufeff]+/g;
/** The same in a text of many lines, which keeps its line ends, tabs and spaces. */
// eslint-disable-next-line no-control-regex
const HARMFUL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
/** Terminal colour and cursor sequences, which leave rubbish behind when only their first character is taken out. */
// eslint-disable-next-line no-control-regex
const TERMINAL = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)/g;

/** `text` without terminal sequences, controls and overrides; every line end becomes `\n`. */
export function harmless(text: string): string {
  return text.replace(TERMINAL, '').replace(/\r\n?|[\u2028\u2029]/g, '\n').replace(HARMFUL, '');
}

/** One line of at most `limit` characters, with nothing in it that an editor would act on. */
export function clean(text: string | undefined, limit = Infinity): string {
  if (text === undefined) return '';
  const line = text.replace(BLANK, ' ').replace(/^ | $/g, '');
  if (line.length <= limit) return line;
  const characters = Array.from(line);
  return characters.length <= limit ? line : `${characters.slice(0, limit - 1).join('').replace(/ $/, '')}…`;
}

/** A number with its noun, which gets an `s` where there is not one of it. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** `text` with every character escaped that Markdown could read as markup. */
export function escapeMarkdown(text: string): string {
  return harmless(text).replace(/[\\`*_{}[\]()#+\-.!|<>~&$]/g, '\\$&');
}
