/**
 * The two libraries that plant bugs: the TypeScript compiler's syntax trees, and Stryker's instrumenter.
 *
 * They are named here and nowhere else, and imported by computed names: whatever deno.json or deno.lock names is
 * installed with the operator and its image, which need neither. `tools/mutants/deno.lock` pins them. What is used of
 * them is typed here for the same reason.
 *
 * @module
 */

const TYPESCRIPT = "npm:typescript@^6.0.3"; // 7 has no such interface
const STRYKER = "npm:@stryker-mutator/instrumenter@^10.1.1";

/** A node of a syntax tree. */
export interface Node {
  readonly parent: Node;
  readonly name?: Node;
  getStart(source: Node): number;
  getEnd(): number;
  getText(source?: Node): string;
}

/** What is used of the TypeScript compiler. */
export interface TypeScript {
  readonly ScriptTarget: { readonly Latest: number };
  createSourceFile(file: string, text: string, target: number, parents: boolean): Node;
  forEachChild(node: Node, visit: (child: Node) => void): void;
  isExpression(node: Node): boolean;
  isStatement(node: Node): boolean;
  isSourceFile(node: Node): boolean;
  isVariableStatement(node: Node): boolean;
  isVariableDeclaration(node: Node): boolean;
  isConstructorDeclaration(node: Node): boolean;
  isFunctionDeclaration(node: Node): boolean;
  isMethodDeclaration(node: Node): boolean;
  isGetAccessorDeclaration(node: Node): boolean;
  isPropertyAssignment(node: Node): boolean;
  isPropertyDeclaration(node: Node): boolean;
  isClassDeclaration(node: Node): boolean;
}

/** A place in a text; lines and columns from 0. */
export interface Location {
  readonly start: { readonly line: number; readonly column: number };
  readonly end: { readonly line: number; readonly column: number };
}

/** What is used of Stryker's instrumenter. */
export interface Instrumenter {
  instrument(
    files: readonly { readonly name: string; readonly content: string; readonly mutate: boolean }[],
    options: {
      readonly plugins: null;
      readonly excludedMutations: readonly string[];
      readonly ignorers: readonly never[];
    },
  ): Promise<{
    readonly files: readonly { readonly name: string; readonly content: string }[];
    readonly mutants: readonly {
      readonly id: string;
      readonly fileName: string;
      readonly mutatorName: string;
      readonly replacement: string;
      readonly location: Location;
      readonly status?: string;
    }[];
  }>;
}

/** The TypeScript compiler. */
export async function loadTypeScript(): Promise<TypeScript> {
  return (await import(TYPESCRIPT)).default;
}

/** Stryker's instrumenter, which logs to nobody. */
export async function loadInstrumenter(): Promise<Instrumenter> {
  const { Instrumenter } = await import(STRYKER);
  const levels = ["Trace", "Debug", "Info", "Warn", "Error", "Fatal"];
  const logger = Object.fromEntries(
    levels.flatMap((level): [string, () => unknown][] => [
      [`is${level}Enabled`, () => false],
      [level.toLowerCase(), () => {}],
    ]),
  );
  return new Instrumenter(logger);
}
